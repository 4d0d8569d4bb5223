package state

import (
	"encoding/binary"
	"errors"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/testworld/layout"
)

// twin is a venue whose accounts hold a number each: pool, and two vaults.
type twin struct{}

var twinProgram = swaptest.Named("twin program")

func (twin) Name() string       { return "twin" }
func (twin) Program() venue.Key { return twinProgram }

// None of its swaps are read.
func (twin) Programs() []venue.Key                { return []venue.Key{twinProgram} }
func (twin) Trade(venue.Call) (venue.Trade, bool) { return venue.Trade{}, false }
func (twin) FeatureNames() []string               { return nil }
func (twin) Optional() venue.Features             { return 0 }
func (twin) Proof() venue.Proof                   { return venue.ProofExecution }

func (twin) Lookup(_, _ venue.Key) venue.Lookup {
	return venue.Lookup{}
}

// rpcOptions are those of any call.
var rpcOptions solana.AccountOptions

var errNoTwin = errors.New("no twin")

func (twin) Open(address venue.Key, data []byte, _ ...venue.Key) (venue.Ref, error) {
	if len(data) != 8+4*32 {
		return nil, errNoTwin
	}
	r := &twinRef{keys: [3]venue.Key{address, venue.Key(data[72:]), venue.Key(data[104:])}, mints: [2]venue.Key{venue.Key(data[8:]), venue.Key(data[40:])}}
	return r, nil
}

type twinRef struct {
	venue.Ref
	keys  [3]venue.Key
	mints [2]venue.Key
}

func (r *twinRef) Address() venue.Key    { return r.keys[0] }
func (r *twinRef) Mints() [2]venue.Key   { return r.mints }
func (r *twinRef) Rank() uint64          { return 1 }
func (r *twinRef) Accounts() []venue.Key { return r.keys[:] }
func (r *twinRef) Own() []venue.Key      { return r.keys[:] }

func (r *twinRef) Decode(s venue.State) (venue.Pool, error) {
	p := &twinPool{twinRef: r}
	for i, key := range r.keys {
		account, held := s.Account(key)
		if !held || account == nil || len(account.Data) < 8 {
			return nil, venue.ErrUnread
		}
		p.numbers[i] = binary.LittleEndian.Uint64(account.Data)
	}
	return p, nil
}

type twinPool struct {
	venue.Pool
	*twinRef
	numbers [3]uint64
}

func (p *twinPool) Address() venue.Key  { return p.keys[0] }
func (p *twinPool) Mints() [2]venue.Key { return p.mints }

// pools of the test's chain: each has its own coin against wrapped SOL.
type twinKeys struct {
	coin venue.Key
	keys [3]venue.Key
}

func newTwin(name string) twinKeys {
	return twinKeys{swaptest.Named(name + " coin"), [3]venue.Key{
		swaptest.Named(name), swaptest.Named(name + " vault 0"), swaptest.Named(name + " vault 1")}}
}

// account is one of the three, with a number.
func (k twinKeys) account(i int, number uint64) *solana.Account {
	data := binary.LittleEndian.AppendUint64(nil, number)
	if i > 0 {
		return &solana.Account{Owner: swaptest.TokenProgram, Data: data}
	}
	for _, key := range []venue.Key{k.coin, swaptest.WrappedSOL, k.keys[1], k.keys[2]} {
		data = append(data, key[:]...)
	}
	return &solana.Account{Owner: twinProgram, Data: data}
}

// mintAccount is any mint.
func mintAccount() *solana.Account {
	data := layout.Mint{Decimals: 6}
	return &solana.Account{Owner: swaptest.TokenProgram, Data: data.Bytes()}
}
