package swap

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// programKind is what a program is to the decoder. Kinds from isVenue on make a transaction worth
// decoding.
type programKind uint8

const (
	isUnknown programKind = iota
	isToken
	isToken22
	isPrecompile
	isVenue
	isAggregator
)

// known is a program that matters to the decoder.
type known struct {
	key   pubkey.Key
	kind  programKind
	index int16 // among the decoder's venues or aggregators
}

// table finds programs by key. It is a hash table with open addressing: every key of every
// transaction is looked up, and a Go map takes several times as long. The entries are fixed, and
// the first bytes of their keys are as good as random. Hostile keys cannot add entries.
type table struct {
	entries []known // their number is a power of two; an entry of kind isUnknown is free
	mask    uint64
}

// newTable makes a table that is at most a quarter full, so that searches are short.
func newTable(all []known) table {
	size := 64
	for size < 4*len(all) {
		size *= 2
	}
	t := table{entries: make([]known, size), mask: uint64(size - 1)}
	for _, k := range all {
		i := hash(&k.key) & t.mask
		for t.entries[i].kind != isUnknown && t.entries[i].key != k.key {
			i = (i + 1) & t.mask
		}
		t.entries[i] = k
	}
	return t
}

func hash(key *pubkey.Key) uint64 {
	const mix = 0x9e3779b97f4a7c15 // 2^64 / golden ratio: Knuth's multiplicative hash
	return binary.LittleEndian.Uint64(key[:]) * mix >> 32
}

// find returns the entry of a key. If there is none, it returns a free entry, whose kind is
// isUnknown.
func (t *table) find(key *pubkey.Key) *known {
	for i := hash(key) & t.mask; ; i = (i + 1) & t.mask {
		if k := &t.entries[i]; k.kind == isUnknown || k.key == *key {
			return k
		}
	}
}

// programs are the known programs among a transaction's keys, by index.
type programs struct {
	found   [maxKeys]*known
	count   int
	nothing known // what at returns for indexes beyond the keys
}

// read looks up the keys, and reports whether a venue or an aggregator is among them.
func (p *programs) read(t *table, keys []pubkey.Key) (any bool) {
	p.count = min(len(keys), maxKeys)
	for i := range p.count {
		k := t.find(&keys[i])
		p.found[i] = k
		any = any || k.kind >= isVenue
	}
	return any
}

func (p *programs) at(i int) *known {
	if i < 0 || i >= p.count {
		return &p.nothing
	}
	return p.found[i]
}

// otherPrograms are the token programs and the precompiles.
func otherPrograms() []known {
	return []known{
		{key: pubkey.MustParse("Ed25519SigVerify111111111111111111111111111"), kind: isPrecompile},
		{key: pubkey.MustParse("KeccakSecp256k11111111111111111111111111111"), kind: isPrecompile},
		{key: pubkey.MustParse("Secp256r1SigVerify1111111111111111111111111"), kind: isPrecompile},
		{key: pubkey.MustParse(schemas.ProgramToken), kind: isToken},
		{key: pubkey.MustParse(schemas.ProgramToken2022), kind: isToken22},
	}
}
