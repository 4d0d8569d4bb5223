package decode

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/aldrin"
	"github.com/mintlake/mintlake/ingest/decode/heaven"
	"github.com/mintlake/mintlake/ingest/decode/invariant"
	"github.com/mintlake/mintlake/ingest/decode/lifinity"
	"github.com/mintlake/mintlake/ingest/decode/manifest"
	"github.com/mintlake/mintlake/ingest/decode/mercurial"
	"github.com/mintlake/mintlake/ingest/decode/meteoradammv1"
	"github.com/mintlake/mintlake/ingest/decode/meteoradammv2"
	"github.com/mintlake/mintlake/ingest/decode/meteoradbc"
	"github.com/mintlake/mintlake/ingest/decode/meteoradlmm"
	"github.com/mintlake/mintlake/ingest/decode/onedex"
	"github.com/mintlake/mintlake/ingest/decode/openbookv2"
	"github.com/mintlake/mintlake/ingest/decode/phoenix"
	"github.com/mintlake/mintlake/ingest/decode/proprietary"
	"github.com/mintlake/mintlake/ingest/decode/pumpcurve"
	"github.com/mintlake/mintlake/ingest/decode/pumpswap"
	"github.com/mintlake/mintlake/ingest/decode/raydiumammv4"
	"github.com/mintlake/mintlake/ingest/decode/raydiumclmm"
	"github.com/mintlake/mintlake/ingest/decode/raydiumcpmm"
	"github.com/mintlake/mintlake/ingest/decode/raydiumlaunchlab"
	"github.com/mintlake/mintlake/ingest/decode/saber"
	"github.com/mintlake/mintlake/ingest/decode/stabble"
	"github.com/mintlake/mintlake/ingest/decode/swap"
	"github.com/mintlake/mintlake/ingest/decode/tokenswap"
	"github.com/mintlake/mintlake/ingest/decode/whirlpool"
)

// Venues are the tables of all venues whose swaps are read.
func Venues() []swap.Venue {
	all := []swap.Venue{
		raydiumammv4.Venue(), raydiumcpmm.Venue(), raydiumlaunchlab.Venue(),
		meteoradlmm.Venue(), meteoradammv1.Venue(), meteoradammv2.Venue(), meteoradbc.Venue(),
		pumpswap.Venue(), pumpcurve.Venue(),
		phoenix.Venue(), openbookv2.Venue(), manifest.Venue(), lifinity.Venue(),
		saber.Venue(), mercurial.Venue(), invariant.Venue(), aldrin.Venue(), onedex.Venue(), heaven.Venue(),
	}
	for _, more := range [][]swap.Venue{raydiumclmm.Venues(), whirlpool.Venues(), tokenswap.Venues(), stabble.Venues(), proprietary.Venues()} {
		all = append(all, more...)
	}
	return all
}

// Aggregators are the programs that route through venues: their instructions are routes, never
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

// Swaps returns the swap legs, routes and created pools of one transaction of the block at slot, in
// the order of execution. They share no memory with tx.
func (d *Decoder) Swaps(tx *chain.Transaction, slot uint64, blockTime int64) swap.Result {
	return d.swaps.Decode(tx, slot, blockTime)
}
