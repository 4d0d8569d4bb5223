//! Says what solana-transaction reads in transactions.
//!
//! In: a transaction in hex in each line. Out: for each, "refused" or "read" with its parts, in the
//! form that solders_oracle.py writes too. What is left unread behind a transaction counts as refused.

use solana_message::VersionedMessage;
use solana_transaction::versioned::VersionedTransaction;
use std::io::{BufRead, Write};

fn hex(data: &[u8]) -> String {
    data.iter().map(|b| format!("{b:02x}")).collect()
}

fn bytes(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex")).collect()
}

fn option<T: ToString>(value: Option<T>) -> String {
    value.map_or("-".into(), |v| v.to_string())
}

fn text(data: &[u8]) -> Option<String> {
    let tx: VersionedTransaction = wincode::deserialize(data).ok()?;
    if wincode::serialize(&tx).ok()? != data {
        return None;
    }
    tx.sanitize().ok()?;
    let m = &tx.message;
    let h = m.header();
    let version = match m {
        VersionedMessage::Legacy(_) => "legacy",
        VersionedMessage::V0(_) => "0",
        VersionedMessage::V1(_) => "1",
    };
    let mut parts = vec![
        version.to_string(),
        format!("{},{},{}", h.num_required_signatures, h.num_readonly_signed_accounts, h.num_readonly_unsigned_accounts),
        hex(m.recent_blockhash().as_ref()),
        tx.signatures.iter().map(|s| hex(s.as_ref())).collect::<Vec<_>>().join(","),
        m.static_account_keys().iter().map(|k| hex(k.as_ref())).collect::<Vec<_>>().join(","),
        m.instructions().iter().map(|i| format!("{}:{}:{}", i.program_id_index, hex(&i.accounts), hex(&i.data))).collect::<Vec<_>>().join(","),
        m.address_table_lookups()
            .unwrap_or_default()
            .iter()
            .map(|l| format!("{}:{}:{}", hex(l.account_key.as_ref()), hex(&l.writable_indexes), hex(&l.readonly_indexes)))
            .collect::<Vec<_>>()
            .join(","),
    ];
    if let VersionedMessage::V1(m) = m {
        let c = &m.config;
        parts.push(format!(
            "{},{},{},{}",
            option(c.priority_fee),
            option(c.compute_unit_limit),
            option(c.loaded_accounts_data_size_limit),
            option(c.heap_size)
        ));
    }
    Some(parts.into_iter().map(|p| if p.is_empty() { "-".into() } else { p }).collect::<Vec<_>>().join(" "))
}

fn main() {
    let mut out = std::io::BufWriter::new(std::io::stdout());
    for line in std::io::stdin().lock().lines() {
        let data = bytes(line.expect("text").trim());
        let said = text(&data).map_or("refused".into(), |parts| format!("read {parts}"));
        writeln!(out, "{said}").expect("write");
    }
}
