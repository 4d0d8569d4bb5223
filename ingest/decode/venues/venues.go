// Package venues describes the programs on which tokens are swapped, one file for each.
//
// In: nothing. Out: which instructions of a program swap or create a pool, where their accounts
// are, and how to read the program's event, if it emits one (see package swap). Guarantees: pure.
package venues

import "github.com/mintlake/mintlake/ingest/decode/swap"

// All returns all venues whose swaps are decoded.
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
