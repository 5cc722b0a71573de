#!/bin/sh
# The same clinic in shell: sed takes a question apart, and awk goes through the clinic's rows.
here=$(dirname "$0")
while read -r question; do
    ticket=$(printf '%s' "$question" | sed 's/.*"ticket":\([0-9]*\).*/\1/')
    user=$(printf '%s' "$question" | sed 's/.*"user":"\([^"/]*\)".*/\1/')
    point=$(printf '%s' "$question" | sed 's/.*"point":\[\([^]]*\)\].*/\1/')
    gradient=$(awk -F, -v point="$point" '
        BEGIN { split(point, b, ",") }
        NR > 1 { error = b[1] + b[2] * $1 + b[3] * $2 - $3; g[1] += error; g[2] += error * $1; g[3] += error * $2 }
        END { printf "%.17g,%.17g,%.17g", g[1] / (NR - 1), g[2] / (NR - 1), g[3] / (NR - 1) }' "$here/$user.csv") &&
        printf '{"ticket":%s,"user":"%s","gradient":[%s]}\n' "$ticket" "$user" "$gradient" ||
        printf '{"ticket":%s,"error":"no rows of %s"}\n' "$ticket" "$user"
done
