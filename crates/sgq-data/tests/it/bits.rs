//! Datasets of lists of features, bit by bit as they have always been: published figures depend on them.

use sgq::{
    Random,
    problem::{Loss, Rows},
};
use sgq_data::{
    Dataset,
    csv::{Features, Options, from_reader},
};

/// FNV-1a of all numbers and names.
fn fingerprint(data: &Dataset) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut eat = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    let Rows::Dense { dim, values } = &data.rows else { panic!("rows of a table are dense") };
    eat(&dim.to_le_bytes());
    for number in values.iter().chain(&data.targets).chain(&data.weights) {
        eat(&number.to_bits().to_le_bytes());
    }
    data.blocks.iter().for_each(|block| eat(&block.to_le_bytes()));
    data.user_names.iter().chain(&data.column_names).for_each(|name| eat(name.as_bytes()));
    eat(format!("{:?} {} {}", data.target, data.dropped_rows, data.rows_total).as_bytes());
    hash
}

/// Numbers of many sizes, text of two, five and sixty levels, a column that never changes, and holes.
fn table(holes: bool) -> String {
    let mut random = Random::new(11, "bits");
    let mut text = String::from("site,result,count,event,small,large,whole,sex,kind,place,same,w\n");
    for row in 0..400 {
        let small = 1e-9 * (random.unit() - random.unit());
        let large = 1e12 + 1e6 * (random.unit() - random.unit());
        let whole = random.index(7) as f64 - 3.0;
        let sex = ["m", "f"][random.index(2)];
        let kind = ["d", "a", "c x", "B", "e"][random.index(5)];
        let place = format!("place {}", random.index(60));
        let (result, count) = (3.0 + 0.7 * (random.unit() - random.unit()), random.index(9));
        let event = ["no", "yes"][random.index(2)];
        let weight = if holes && row % 17 == 0 { "NA".to_owned() } else { (0.5 + random.unit()).to_string() };
        let site = random.index(23);
        text += &format!("{site},{result},{count},{event},{small},{large},{whole},{sex},{kind},{place},1,{weight}\n");
    }
    text
}

#[test]
fn datasets_of_features_never_change() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let others = ["result", "count", "event"];
    let mut found = Vec::new();
    for (target, loss) in [
        ("result", Loss::Squares),
        ("result", Loss::Huber { delta: 1.0 }),
        ("count", Loss::Poisson),
        ("event", Loss::Logistic),
    ] {
        for standardise in [true, false] {
            let except = others.iter().filter(|other| **other != target).copied().collect::<Vec<_>>();
            let options = Options {
                features: Features::Except(names(&except)),
                loss,
                standardise,
                drop_constant: true,
                ..Options::new("site", target)
            };
            let weighted = Options { weight: Some("w".into()), drop_missing: true, ..options.clone() };
            let only = Options { features: Features::Only(names(&["kind", "small", "place"])), ..weighted.clone() };
            for (options, holes) in [(options, false), (weighted, true), (only, true)] {
                found.push(fingerprint(&from_reader(table(holes).as_bytes(), &options).unwrap()));
            }
        }
    }
    assert_eq!(found, EXPECTED, "{found:#018x?}");
}

/// From the reader that knew lists of features only.
const EXPECTED: [u64; 24] = [
    0x7721_c2b3_99d7_6e39,
    0x8dbc_3363_872d_42e1,
    0x0022_99fe_53d7_b79c,
    0xa29d_089b_c4f0_7cce,
    0x99e6_e673_ba17_7683,
    0x4f28_ab9f_664e_5786,
    0x7721_c2b3_99d7_6e39,
    0x8dbc_3363_872d_42e1,
    0x0022_99fe_53d7_b79c,
    0xa29d_089b_c4f0_7cce,
    0x99e6_e673_ba17_7683,
    0x4f28_ab9f_664e_5786,
    0x558d_a9d1_5471_6fab,
    0x4490_09c8_1c37_e1ea,
    0xd4f7_b558_703c_ba5b,
    0x49ff_75ce_62c3_a989,
    0x4c3d_a9c4_55ef_6243,
    0x8434_3b54_9229_86ee,
    0x2523_4e1a_a5f6_5a4f,
    0x436d_44e6_15f5_7fd0,
    0xae6b_e218_ec41_eccb,
    0x3ac1_6728_c246_e5dd,
    0x15cc_a106_dc56_44bb,
    0x306f_d6a0_647f_8144,
];
