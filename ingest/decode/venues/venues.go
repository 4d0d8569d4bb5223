// Package venues are the tables of the programs on which tokens are swapped: a file each.
//
// In: nothing. Out: which instructions of a program swap or create a pool, where their accounts
// stand, and the reader of its event if it tells one (see package swap). Guarantees: pure.
package venues

import "github.com/mintlake/mintlake/ingest/decode/swap"

// All are the tables of all venues whose swaps are read.
func All() []swap.Venue {
	all := []swap.Venue{
		raydiumAMMv4(), raydiumCPMM(), raydiumLaunchLab(), meteoraDLMM(), meteoraDAMMv1(), meteoraDAMMv2(), meteoraDBC(), pumpSwap(), pumpCurve(),
		phoenix(), openBookV2(), manifest(), lifinity(), saber(), mercurial(), invariant(), aldrin(), oneDEX(), heaven(),
	}
	for _, more := range [][]swap.Venue{raydiumCLMM(), whirlpool(), tokenSwap(), stabble(), proprietary()} {
		all = append(all, more...)
	}
	return all
}
