// Package bulk is a simulated Solana node for tests and benchmarks of bootstraps.
//
// In: a number of mints. Out: an HTTP handler that answers getProgramAccounts and
// getProgramAccountsV2 for both token programs and Metaplex, and what a registry must hold after
// reading it. Guarantees: the same number gives the same accounts.
package bulk

import (
	"fmt"
	"strconv"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/layout"
)

// Chain is a deterministic set of mints and their metadata: the n-th account is made when it is
// asked for.
type Chain struct {
	// Mints is the number of mints, Slot the slot of every answer.
	Mints int
	Slot  uint64
	// index has the accounts of each kind by the first byte of the field that cuts them.
	index map[string]*[256][]uint32
}

const (
	kindSPL      = "spl"
	kindExtended = "extended"
	kindPlain    = "plain"
	kindMetadata = "metadata"
)

// NewChain returns a chain of that many mints, all at one slot.
func NewChain(mints int, slot uint64) *Chain {
	c := &Chain{Mints: mints, Slot: slot, index: map[string]*[256][]uint32{}}
	for _, kind := range []string{kindSPL, kindExtended, kindPlain, kindMetadata} {
		c.index[kind] = new([256][]uint32)
	}
	for i := range mints {
		n := uint32(i)
		first := madeUp("authority", n)[0]
		if n%8 == 0 {
			first = platform[0]
		}
		buckets := c.index[kindOfMint(n)]
		buckets[first] = append(buckets[first], n)
		if hasMetadata(n) {
			first := madeUp("mint", n)[0]
			buckets := c.index[kindMetadata]
			buckets[first] = append(buckets[first], n)
		}
	}
	return c
}

// platform is the mint authority of every eighth token, so that one shard is far larger than the
// others.
var platform = madeUp("platform", 0)

func madeUp(name string, n uint32) pubkey.Key { return chain.MadeUp(name, uint64(n)) }

func kindOfMint(n uint32) string {
	switch {
	case n%100 == 99:
		return kindPlain
	case n%10 == 9:
		return kindExtended
	default:
		return kindSPL
	}
}

func hasMetadata(n uint32) bool { return kindOfMint(n) == kindSPL && n%20 != 0 }

// mintData appends the data of the n-th mint's account.
func mintData(n uint32, out []byte) []byte {
	authority := madeUp("authority", n)
	if n%8 == 0 {
		authority = platform
	}
	// Every third authority was given up: the old key stays behind the tag.
	m := layout.Mint{MintAuthority: layout.Option{Key: authority, Set: n%3 != 0}, Supply: uint64(n) * 1_000_003, Decimals: byte(n % 10)}
	if kindOfMint(n) != kindExtended {
		return m.Append(out)
	}
	mint := madeUp("mint", n)
	metadata := layout.TokenMetadata{
		UpdateAuthority: authority, Mint: mint, Symbol: fmt.Sprintf("X%d", n), URI: "https://x.example/" + strconv.Itoa(int(n)),
		Name: fmt.Sprintf("A token with its metadata in an extension, number %d: long enough not to be taken for a multisig", n),
	}
	m.Extensions = layout.AppendExtension(nil, layout.ExtMetadataPointer, layout.MetadataPointer(authority, mint))
	m.Extensions = layout.AppendExtension(m.Extensions, layout.ExtTokenMetadata, metadata.Bytes())
	return m.Append(out)
}

// metadataData appends the data of the n-th mint's Metaplex account, in the 679 bytes that most
// such accounts have.
func metadataData(n uint32, out []byte) []byte {
	mint := madeUp("mint", n)
	m := layout.Metaplex{UpdateAuthority: madeUp("update", n), Mint: mint, Sold: true, Mutable: true, EditionNonce: 255, Standard: layout.StandardFungible,
		MetaplexData: layout.MetaplexData{Name: fmt.Sprintf("Token number %d", n), Symbol: fmt.Sprintf("T%d", n), URI: fmt.Sprintf("https://arweave.example/%x", mint[:16])}}
	size := len(out) + layout.MetaplexSizeOld
	out = m.Append(out)
	return append(out, make([]byte, size-len(out))...)
}

// metadataAddress returns a made-up address: deriving the real one would be most of the server's
// work.
func metadataAddress(n uint32) pubkey.Key { return madeUp("metadata", n) }

// Enrichments calls each with every enrichment that a reader of the whole chain must write. It
// reads the accounts' bytes with the product's parser, see decision 0023.
func (c *Chain) Enrichments(each func(*eventspb.Enrichment)) error {
	for i := range c.Mints {
		n := uint32(i)
		key := madeUp("mint", n)
		program := tokenaccount.ProgramToken2022
		if kindOfMint(n) == kindSPL {
			program = tokenaccount.ProgramToken
		}
		mint, err := tokenaccount.ParseMint(program, mintData(n, nil))
		if err != nil {
			return fmt.Errorf("mint %d: %w", n, err)
		}
		each(&eventspb.Enrichment{Mint: key[:], Slot: c.Slot, Fact: &eventspb.Enrichment_MintAccount{MintAccount: mint.Fact(key)}})
		if !hasMetadata(n) {
			continue
		}
		metadata, err := tokenaccount.ParseMetaplex(metadataData(n, nil))
		if err != nil {
			return fmt.Errorf("metadata of mint %d: %w", n, err)
		}
		each(&eventspb.Enrichment{
			Mint: key[:], Slot: c.Slot, Fact: &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: metadata.Fact(metadataAddress(n))},
		})
	}
	return nil
}

// MintAccount returns the n-th mint's account: address, owner and data.
func (c *Chain) MintAccount(n int) (address, owner pubkey.Key, data []byte) {
	number := uint32(n)
	owner = tokenaccount.ProgramToken2022
	if kindOfMint(number) == kindSPL {
		owner = tokenaccount.ProgramToken
	}
	return madeUp("mint", number), owner, mintData(number, nil)
}

// MetadataAccount returns the account of the n-th mint's Metaplex metadata; ok is false if it has
// none.
func (c *Chain) MetadataAccount(n int) (address, owner pubkey.Key, data []byte, ok bool) {
	number := uint32(n)
	if !hasMetadata(number) {
		return address, owner, nil, false
	}
	return metadataAddress(number), tokenaccount.ProgramMetaplex, metadataData(number, nil), true
}
