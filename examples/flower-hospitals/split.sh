#!/bin/sh
# The sixteen largest hospitals of medpar.csv, each with its rows in a file of its own: sh split.sh ../medpar.csv
set -eu
mkdir -p data
largest=$(awk -F, 'NR > 1 { rows[$1]++ } END { for (name in rows) print rows[name], name }' "$1" |
    sort -k1,1nr -k2,2 | head -n 16 | awk '{ print $2 }' | sort)
echo user > users.csv
for name in $largest; do
    echo "hospital-$name" >> users.csv
    awk -F, -v name="$name" 'NR == 1 || $1 == name' "$1" | cut -d, -f2- > "data/hospital-$name.csv"
done
