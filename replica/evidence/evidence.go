// Package evidence reports what can be known about whether a token is the one that it seems to be.
//
// In: every change of the registry; a token. Out: how many tokens share its symbol as the eye reads
// it, where it stands among them, which of them comes first, and signals, each of which anybody can
// check. Guarantees: the rules are public (docs/evidence.md) and the same for all: there is no list
// of tokens in here, nothing to buy and no judgement. Reading costs a few microseconds and waits
// for one change at most.
//
// Memory: 32 bytes a row id, and the groups; some 45 bytes a token in all.
package evidence

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	"sync"

	"github.com/dchest/siphash"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Rows returns the tokens of the registry by row id.
type Rows interface {
	// Token is nil if the row id is not a member's.
	Token(id uint32) *registry.Token
	Extensions(id uint32) []string
	// Thin returns whether the token was traded and its market is below the floor of
	// docs/market-caps.md.
	Thin(id uint32) bool
}

// Evidence is what is known. It is part of the API's responses.
type Evidence struct {
	// Skeleton is the skeleton of the symbol, see Skeletons. It is empty when the token has no
	// symbol. Then all other fields but Signals are zero.
	Skeleton string `json:"skeleton"`
	// Sharing counts the tokens whose symbols have this skeleton, this one included.
	Sharing int `json:"sharing"`
	// RankByVolume is the token's place among them, from 1: volume descending (unknown last), then
	// first_seen_at ascending (unknown last), then mint.
	RankByVolume int `json:"rank_by_volume"`
	// RankByAge is the token's place in the order by first_seen_at (unknown last), then mint.
	RankByAge int `json:"rank_by_age"`
	// Canonical is the mint of rank 1 by volume.
	Canonical pubkey.Key `json:"canonical"`
	// Signals are facts to look at, of the constants Signal…, in their order.
	Signals []Signal `json:"signals"`
}

// traits are what the index keeps of a token. The field symbol is 0 if the token is not a member or
// has no symbol.
type traits struct {
	symbol uint64 // hash of the symbol's skeleton
	mint   uint64 // the mint's Prefix, in the order of the text
	volume float64
	age    uint32 // first_seen_at in seconds, as the chain tells it; 0: unknown
	name   uint32 // hash of the name's skeleton, 0 for no name
}

const (
	chunkBits = 16
	chunkSize = 1 << chunkBits
	// noVolume sorts after every volume.
	noVolume = -math.MaxFloat64
)

// Index is the evidence of all tokens. Apply is for one goroutine, Of for any number at any time.
type Index struct {
	// CopiedLogo may be set before the first use; nil: no token has the signal.
	CopiedLogo CopiedLogo

	rows      Rows
	skeletons *Skeletons
	key       hashKey

	mu     sync.RWMutex
	chunks []*[chunkSize]traits // by row id
	groups groups
	// filling: some traits are not in groups yet.
	filling bool
}

// New reads Unicode's table of confusables. Rows may be filled later.
func New(rows Rows) (*Index, error) {
	skeletons, err := NewSkeletons()
	if err != nil {
		return nil, err
	}
	var key [16]byte
	_, _ = rand.Read(key[:]) // never fails
	return &Index{
		rows: rows, skeletons: skeletons, groups: newGroups(),
		key: hashKey{binary.LittleEndian.Uint64(key[:]), binary.LittleEndian.Uint64(key[8:])},
	}, nil
}

// hashKey is the key of the hashes of skeletons. It is secret, so that nobody can make two
// skeletons with one hash. maphash would not do: checkpoints keep the hashes, and maphash does not
// tell its key.
type hashKey struct{ first, second uint64 }

func (k hashKey) of(text string) uint64 { return siphash.Hash(k.first, k.second, []byte(text)) }

// Apply implements replica.Listener. Readers wait for one change at most. It does not call Rows,
// because the caller may hold locks that Rows takes.
func (x *Index) Apply(changes []replica.Change) {
	x.Filled()
	x.each(changes)
}

// each takes over the changes that differ from what the index has.
func (x *Index) each(changes []replica.Change) {
	for i := range changes {
		change := &changes[i]
		if change.Same {
			continue
		}
		next := traits{}
		if change.Token != nil {
			next = x.traitsOf(change.Token)
		}
		// Reading needs no lock here: only this goroutine writes.
		if next == x.traits(change.ID) {
			continue
		}
		x.set(change.ID, next)
	}
}

// set replaces the traits of a token and moves it in its groups.
func (x *Index) set(id uint32, next traits) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for int(id>>chunkBits) >= len(x.chunks) {
		x.chunks = append(x.chunks, new([chunkSize]traits))
	}
	place := &x.chunks[id>>chunkBits][id%chunkSize]
	if x.filling {
		*place = next
		return
	}
	if renamed := *place; place.symbol != 0 {
		if renamed.name = next.name; renamed == next { // only the name differs: the order stays
			x.groups.rename(x, id, next.name)
			return
		}
		x.groups.remove(x, id)
	}
	*place = next
	if next.symbol != 0 {
		x.groups.insert(x, id)
	}
}

func (x *Index) traits(id uint32) traits {
	if chunk := int(id >> chunkBits); chunk < len(x.chunks) {
		return x.chunks[chunk][id%chunkSize]
	}
	return traits{}
}

// traitsOf returns what the index keeps of a token.
func (x *Index) traitsOf(token *registry.Token) traits {
	skeleton := x.skeletons.Symbol(token.Symbol)
	if skeleton == "" {
		return traits{}
	}
	t := traits{symbol: max(x.key.of(skeleton), 1), mint: token.Mint.Prefix(), volume: noVolume}
	if name := x.skeletons.Text(token.Name); name != "" {
		t.name = max(uint32(x.key.of(name)>>32), 1)
	}
	if token.DailyVolumeUSD != nil {
		t.volume = *token.DailyVolumeUSD
	}
	if token.FirstSeenAt != nil && *token.FirstSeenAt >= 1000 {
		t.age = uint32(min(*token.FirstSeenAt/1000, math.MaxUint32))
	}
	return t
}

// byVolume returns whether a stands before b in the order of Evidence.RankByVolume.
func (x *Index) byVolume(a, b uint32) bool {
	p, q := x.at(a), x.at(b)
	if p.volume != q.volume {
		return p.volume > q.volume
	}
	return x.byAge(a, b)
}

// byAge returns whether a stands before b in the order of Evidence.RankByAge.
func (x *Index) byAge(a, b uint32) bool {
	p, q := x.at(a), x.at(b)
	if p.age != q.age {
		return p.age-1 < q.age-1 // 0, which is unknown, wraps to the highest number
	}
	if p.mint != q.mint {
		return p.mint < q.mint
	}
	return a < b
}

func (x *Index) at(id uint32) *traits { return &x.chunks[id>>chunkBits][id%chunkSize] }

// Of returns the evidence about a token. id is its row id, token its row.
func (x *Index) Of(id uint32, token *registry.Token) Evidence {
	e := Evidence{Skeleton: x.skeletons.Symbol(token.Symbol)}
	look := look{token: token, canonical: token}
	if e.Skeleton != "" {
		place := x.placeOf(id)
		if place.canonical != id {
			look.canonical = x.rows.Token(place.canonical)
		}
		// Hashes may collide, and rows may have changed: then the token counts as the only one.
		if place.size == 0 || look.canonical == nil || x.skeletons.Symbol(look.canonical.Symbol) != e.Skeleton {
			place, look.canonical = onlyMember(id), token
		}
		e.Sharing, e.RankByVolume, e.RankByAge, look.copied = place.size, place.byVolume, place.byAge, place.copied
		e.Canonical = look.canonical.Mint
	}
	look.extensions, look.thin = x.rows.Extensions(id), x.rows.Thin(id)
	e.Signals = x.signals(&look)
	return e
}

func (x *Index) placeOf(id uint32) place {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.traits(id).symbol == 0 {
		return place{}
	}
	return x.groups.placeOf(x, id)
}
