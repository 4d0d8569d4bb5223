//! Matches a block against one filter per client with the crate richat-filter, as richat's server does.
//!
//!     richat-bench MESSAGES FILTERS SECONDS
//!
//! MESSAGES holds encoded SubscribeUpdates, each behind its length (u32, little endian). FILTERS has a line for each client: its addresses.
//! Prints microseconds a block, one line for each round, and on the last line how many updates a block has.
use {
    richat_filter::{
        config::{ConfigFilter, ConfigFilterTransactions},
        filter::Filter,
        message::{Message, MessageParserEncoding},
    },
    solana_commitment_config::CommitmentLevel,
    solana_pubkey::Pubkey,
    std::{collections::HashMap, env, fs, hint::black_box, str::FromStr, time::{Duration, Instant}},
};

fn main() {
    let args: Vec<String> = env::args().collect();
    let raw = fs::read(&args[1]).expect("messages");
    let mut messages = Vec::new();
    let mut rest = raw.as_slice();
    while rest.len() >= 4 {
        let n = u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize;
        let data = rest[4..4 + n].to_vec();
        messages.push(Message::parse(data.into(), MessageParserEncoding::Limited).expect("message"));
        rest = &rest[4 + n..];
    }
    let filters: Vec<Filter> = fs::read_to_string(&args[2])
        .expect("filters")
        .lines()
        .map(|line| {
            let filter = ConfigFilterTransactions {
                account_include: line.split(' ').map(|a| Pubkey::from_str(a).expect("address")).collect(),
                ..Default::default()
            };
            Filter::new(&ConfigFilter { transactions: HashMap::from([("f".to_owned(), filter)]), ..Default::default() })
        })
        .collect();
    let limit = Duration::from_secs(args[3].parse().expect("seconds"));
    let begin = Instant::now();
    let mut updates = 0;
    while begin.elapsed() < limit {
        let round = Instant::now();
        updates = 0;
        for message in &messages {
            for filter in &filters {
                updates += black_box(filter.get_updates_ref(message.into(), CommitmentLevel::Confirmed)).len();
            }
        }
        println!("{}", round.elapsed().as_micros());
    }
    println!("updates {updates}");
}
