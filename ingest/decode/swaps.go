package decode

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/swap"
)

// Aggregators returns the programs that route through venues. Their instructions are routes, never
// legs.
func Aggregators() []swap.Aggregator {
	return []swap.Aggregator{
		{Name: "jupiter_v6", Program: "JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4", Hops: swap.JupiterHops},
		{Name: "jupiter_v4", Program: "JUP4Fb2cqiRUcaTHdrPC8h2gNsA2ETXiPDD33WcGuJB"},
		{Name: "jupiter_v3", Program: "JUP3c2Uh3WA4Ng34tw6kPd2G4C5BB21Xo36Je1s32Ph"},
		{Name: "jupiter_v2", Program: "JUP2jxvXaqu7NQY1GmNF4m1vodw12LVXYxbFL2uJvfo"},
		{Name: "okx_dex_v1", Program: "6m2CDdhRgxpH4WjvdzxAYbGxwdGUz5MziiL5jek2kBma"},
		{Name: "okx_dex_v2", Program: "proVF4pMXVaYqmy4NjniPh4pqKNfMmsihgd4wdkCX3u"},
		{Name: "dflow_v4", Program: "DF1ow4tspfHX9JwWJsAb9epbkA8hmpSEAtxXy1V27QBH", Hops: swap.JupiterHops},
		{Name: "titan", Program: "T1TANpTeScyeqVzzgNViGDNrkQ6qHz9KrSBS4aNXvGT"},
		{Name: "raydium_router", Program: "routeUGWgWzqBWFcrCfv8tritsqukccJPu3q5GPP3xS"},
	}
}

// Swaps returns the swap legs, routes, created pools and changes of liquidity of one transaction of
// the block at slot, in the order of execution. They share no memory with tx.
func (d *Decoder) Swaps(tx *chain.Transaction, slot uint64, blockTime int64) swap.Result {
	return d.swaps.Decode(tx, slot, blockTime)
}
