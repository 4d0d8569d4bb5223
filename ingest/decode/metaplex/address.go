package metaplex

import (
	"crypto/sha256"
	"slices"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// maxBumps is how many bumps, from 255 down, the search for a metadata address tries. Half of all
// bumps give an address off the curve, so only one mint in four billion (2^32) needs a lower bump.
const maxBumps = 32

// maxCandidates bounds how many entries are tried of each of three lists: the balances before, the
// balances after, and the accounts. No real transaction has more than 256 accounts, but hostile
// data may.
const maxCandidates = 512

// mintOf finds the mint of a metadata account, for an instruction that names the account and not
// the mint. It tries the mints of the token balances and all accounts, until the metadata address
// of one is the given account. It returns false if the mint is not among them.
//
// The address is a hash, so equality is proof, and mintOf need not check that the address is off
// the curve. A candidate that is not the mint costs about 5 µs.
func mintOf(v instruction.View, metadata pubkey.Key) (pubkey.Key, bool) {
	program, ok := v.Tx.Program(v.Call)
	if !ok {
		return pubkey.Key{}, false
	}
	for _, mint := range candidates(v.Tx) {
		if isMetadataOf(metadata, program, mint) {
			return mint, true
		}
	}
	return pubkey.Key{}, false
}

// candidates returns the keys that may be the mint: the mints of the token balances, each once, and
// then all accounts.
func candidates(tx *chain.Transaction) []pubkey.Key {
	var keys []pubkey.Key
	for _, balances := range [][]chain.TokenBalance{tx.PostBalances, tx.PreBalances} {
		for i := range balances[:min(len(balances), maxCandidates)] {
			if !slices.Contains(keys, balances[i].Mint) {
				keys = append(keys, balances[i].Mint)
			}
		}
	}
	return append(keys, tx.Keys[:min(len(tx.Keys), maxCandidates)]...)
}

// isMetadataOf reports whether metadata is the program address for the seeds "metadata", the
// program, the mint and one of the maxBumps highest bumps.
func isMetadataOf(metadata, program, mint pubkey.Key) bool {
	const prefix, suffix = "metadata", "ProgramDerivedAddress"
	var seeds [len(prefix) + 32 + 32 + 1 + 32 + len(suffix)]byte
	n := copy(seeds[:], prefix)
	n += copy(seeds[n:], program[:])
	n += copy(seeds[n:], mint[:])
	bumpAt := n
	n++
	n += copy(seeds[n:], program[:])
	copy(seeds[n:], suffix)
	for bump := 255; bump > 255-maxBumps; bump-- {
		seeds[bumpAt] = uint8(bump)
		if sha256.Sum256(seeds[:]) == metadata {
			return true
		}
	}
	return false
}
