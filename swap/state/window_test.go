package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
)

// arrayed is a venue whose pools have a price, a depth, and an array of numbers at each price.
type arrayed struct{ twin }

var (
	arrayedProgram = swaptest.Named("arrayed program")
	poolKind       = []byte("a pool  ")
	arrayKind      = []byte("an array")
)

const (
	arraySize = 1000
	reach     = 1
)

func (arrayed) Name() string       { return "arrayed" }
func (arrayed) Program() venue.Key { return arrayedProgram }

func (arrayed) Kinds() []venue.Filter {
	return []venue.Filter{{Parts: []venue.Part{{Bytes: poolKind}}}, {Size: arraySize, Parts: []venue.Part{{Bytes: arrayKind}}}}
}

func (arrayed) Shrink(data []byte) []byte {
	if len(data) != arraySize {
		return data
	}
	return slices.Clone(data[:16])
}

var errNoPool = errors.New("no pool of arrays")

func (arrayed) Open(address venue.Key, data []byte, _ ...venue.Key) (venue.Ref, error) {
	if len(data) != 88 || string(data[:8]) != string(poolKind) {
		return nil, errNoPool
	}
	return &arrayedRef{twinRef: twinRef{keys: [3]venue.Key{address}, mints: [2]venue.Key{venue.Key(data[24:]), venue.Key(data[56:])}},
		price: binary.LittleEndian.Uint64(data[8:]), depth: binary.LittleEndian.Uint64(data[16:])}, nil
}

type arrayedRef struct {
	twinRef
	price, depth uint64
	renewed      int
}

func arrayKey(pool venue.Key, price uint64) venue.Key {
	return swaptest.Named(fmt.Sprint("array ", pool, price))
}

func (r *arrayedRef) Accounts() []venue.Key { return r.keys[:1] }
func (r *arrayedRef) Own() []venue.Key      { return r.keys[:1] }
func (r *arrayedRef) Depth() uint64         { return r.depth }
func (r *arrayedRef) Wider() venue.Ref      { return nil }

func (r *arrayedRef) between(from, to uint64) (keys []venue.Key) {
	for price := r.price + from; price <= r.price+to; price++ {
		keys = append(keys, arrayKey(r.Address(), price))
	}
	return keys
}

func (r *arrayedRef) Near() []venue.Key { return r.between(0, reach) }

func (r *arrayedRef) Spare() []venue.Key { return r.between(reach+1, reach+2) }

func (r *arrayedRef) Next(data []byte) (venue.Ref, error) {
	next, err := arrayed{}.Open(r.Address(), data)
	if err == nil {
		next.(*arrayedRef).renewed = r.renewed + 1
	}
	return next, err
}

func (r *arrayedRef) Decode(s venue.State) (venue.Pool, error) {
	p := &twinPool{twinRef: &r.twinRef}
	for i, key := range r.Near() {
		array, err := venue.Array(s, key, arrayedProgram, func(data []byte) (*uint64, error) {
			number := binary.LittleEndian.Uint64(data[8:])
			return &number, nil
		})
		if err != nil {
			return nil, err
		}
		if array != nil {
			p.numbers[i] = *array
		}
	}
	p.numbers[2] = r.price
	return p, nil
}

// arrays is a chain with one pool of the venue, and its stream.
type arrays struct {
	*testing.T
	f     *Fold
	pool  venue.Key
	coin  venue.Key
	slot  uint64
	order uint64
	// held are the arrays as they are.
	held map[venue.Key]uint64
}

func newArrays(t *testing.T) *arrays {
	a := &arrays{T: t, f: NewFold(FoldConfig{LeastDepth: 100}, venue.List{arrayed{}, twin{}}), pool: swaptest.Named("pool"), coin: swaptest.Named("coin"), slot: 10, held: map[venue.Key]uint64{}}
	ask(a.f, a.coin)
	for price := range uint64(20) {
		if price%5 != 4 { // some arrays do not exist
			a.held[arrayKey(a.pool, price)] = 1000 + price
		}
	}
	begin(a.f)
	return a
}

func (a *arrays) poolAccount(price, depth uint64) *solana.Account {
	data := binary.LittleEndian.AppendUint64(slices.Clone(poolKind), price)
	data = binary.LittleEndian.AppendUint64(data, depth)
	return &solana.Account{Owner: arrayedProgram, Lamports: 1, Data: append(append(data, a.coin[:]...), swaptest.WrappedSOL[:]...)}
}

func (a *arrays) arrayAccount(number uint64) *solana.Account {
	data := binary.LittleEndian.AppendUint64(slices.Clone(arrayKind), number)
	return &solana.Account{Owner: arrayedProgram, Lamports: 1, Data: append(data, make([]byte, arraySize-len(data))...)}
}

// block is one in which the pool and an array are written; the array only if number is not 0.
func (a *arrays) block(price, depth, array, number uint64) {
	a.slot++
	a.write(a.pool, a.poolAccount(price, depth))
	if number != 0 {
		key := arrayKey(a.pool, array)
		a.held[key] = number
		a.write(key, a.arrayAccount(number))
	}
	a.f.Block(Block{Slot: a.slot, Parent: a.slot - 1, UnixTime: 1, At: time.Unix(1, 0)})
	a.f.Publish()
}

func (a *arrays) write(key venue.Key, account *solana.Account) {
	a.order++
	a.f.Write(Write{Slot: a.slot, Order: a.order, Key: key, Transaction: a.order, Account: account})
}

// read answers what is wanted at the head, and returns how many accounts that were.
func (a *arrays) read() int {
	a.f.Covered(a.f.Fresh(), 0)
	a.f.Confirmed(a.slot, 0)
	r := a.f.Wanted(100, 0, 1)
	accounts := make([]*solana.Account, len(r.Keys))
	for i, key := range r.Keys {
		if number, ok := a.held[key]; ok {
			accounts[i] = a.arrayAccount(number)
		} else if key == a.coin || key == swaptest.WrappedSOL {
			accounts[i] = mintAccount()
		}
	}
	a.f.Read(a.slot, r.Keys, accounts)
	a.f.Publish()
	return len(r.Keys)
}

// quoted returns the numbers of the pool.
func (a *arrays) quoted() ([3]uint64, error) {
	found, err := a.f.Snapshot().Pair(a.coin, swaptest.WrappedSOL)
	if err != nil || len(found.Pools) == 0 {
		return [3]uint64{}, err
	}
	return found.Pools[0].Pool.(*twinPool).numbers, nil
}

// TestAPriceThatMovesByAnArrayLeavesThePoolQuotable: the next arrays are held before it comes
// there, although it takes a slot to read each new one.
func TestAPriceThatMovesByAnArrayLeavesThePoolQuotable(t *testing.T) {
	a := newArrays(t)
	a.block(1, 100, 0, 0)
	_, err := a.quoted()
	require.ErrorIs(t, err, market.ErrNotHeld)
	require.Equal(t, 6, a.read(), "two mints, two arrays and two spare ones")
	for price := uint64(2); price < 15; price++ {
		for _, near := range []uint64{price, price + 1} {
			a.block(price, 100, near, 1000*price+near)
			got, err := a.quoted()
			require.NoError(t, err, "at price %d", price)
			require.Equal(t, [3]uint64{a.held[arrayKey(a.pool, price)], a.held[arrayKey(a.pool, price+1)], price}, got)
		}
		require.Equal(t, 1, a.read(), "the outermost array alone")
	}
	p := a.f.pools.byAddress[a.pool]
	require.Equal(t, 26, p.ref.(*arrayedRef).renewed, "it is not opened from nothing")
	for key, h := range a.f.accounts {
		if v, ok := h.at(); ok && v.account != nil && v.account.Owner == arrayedProgram && key != a.pool {
			require.Len(t, v.account.Data, 16, "arrays are stored in their compact form")
		}
	}
	require.NotContains(t, a.f.Explicit(), arrayKey(a.pool, 14), "the filter for its kind tells it")
	require.Len(t, a.f.Explicit(), 2)
}

// TestAPriceThatJumpsIsQuotedOnceItsArraysAreRead.
func TestAPriceThatJumpsIsQuotedOnceItsArraysAreRead(t *testing.T) {
	a := newArrays(t)
	a.block(1, 100, 0, 0)
	a.read()
	a.block(10, 100, 0, 0)
	_, err := a.quoted()
	require.ErrorIs(t, err, market.ErrNotHeld)
	require.Equal(t, 4, a.read())
	got, err := a.quoted()
	require.NoError(t, err)
	require.Equal(t, [3]uint64{1010, 1011, 10}, got)
	require.Nil(t, a.f.accounts[arrayKey(a.pool, 1)], "what is far from the price is released")
}

// TestAnArrayThatWasWrittenBeforeItWasNeededIsReadAfterThat: what the stream told of it then was
// not kept.
func TestAnArrayThatWasWrittenBeforeItWasNeededIsReadAfterThat(t *testing.T) {
	a := newArrays(t)
	a.block(1, 100, 11, 7)
	a.read()
	a.block(10, 100, 0, 0)
	require.Empty(t, a.f.Wanted(100, 0, 1).Keys, "a reading of an earlier slot might miss a write")
	require.NotZero(t, a.read())
	got, err := a.quoted()
	require.NoError(t, err)
	require.Equal(t, [3]uint64{1010, 7, 10}, got)
}

// TestAShallowPoolIsLeftOutOfAPairWithAnother: alone it is read by JSON-RPC. One that loses little
// of its depth stays.
func TestAShallowPoolIsLeftOutOfAPairWithAnother(t *testing.T) {
	a := newArrays(t)
	a.block(1, 99, 0, 0)
	require.Equal(t, 2, a.read(), "the mints alone")
	_, err := a.quoted()
	require.ErrorIs(t, err, market.ErrNotHeld)
	require.Equal(t, 1, a.f.Counts().Shallow)

	k := newTwin("other")
	k.coin = a.coin
	a.f.Listed(k.keys[0], k.account(0, 5))
	a.slot++
	for i, key := range k.keys {
		a.write(key, k.account(i, 5))
	}
	a.f.Block(Block{Slot: a.slot, Parent: a.slot - 1, UnixTime: 1, At: time.Unix(1, 0)})
	a.f.Covered(a.f.Fresh(), 0)
	a.f.Publish()
	got, err := a.quoted()
	require.NoError(t, err)
	require.Equal(t, [3]uint64{5, 5, 5}, got, "the other pool")

	for _, c := range []struct{ depth, shallow uint64 }{{100, 0}, {50, 0}, {49, 1}, {99, 1}} {
		a.block(1, c.depth, 0, 0)
		require.EqualValues(t, c.shallow, a.f.Counts().Shallow, "depth %d", c.depth)
		a.read()
	}
}

// TestASubscriptionAsksForKindsOfAccounts of venues that name them, and for whole programs else.
func TestASubscriptionAsksForKindsOfAccounts(t *testing.T) {
	filters := map[string]*pb.SubscribeRequestFilterAccounts{}
	addPrograms(filters, venue.List{arrayed{}, twin{}})
	require.Len(t, filters, 3)
	require.Equal(t, []string{twinProgram.String()}, filters["programs"].Owner)
	array := filters["arrayed_1"]
	require.Equal(t, []string{arrayedProgram.String()}, array.Owner)
	require.EqualValues(t, arraySize, array.Filters[0].GetDatasize())
	require.Equal(t, arrayKind, array.Filters[1].GetMemcmp().GetBytes())
	alone := map[string]*pb.SubscribeRequestFilterAccounts{}
	addPrograms(alone, venue.List{arrayed{}})
	require.Len(t, alone, 2, "a filter without a condition would match the whole chain")
}

// TestACheckpointHasTheArraysOfAPool, which are quoted after it without a reading.
func TestACheckpointHasTheArraysOfAPool(t *testing.T) {
	a := newArrays(t)
	a.block(1, 100, 2, 77)
	a.read()
	a.f.Finalized(a.slot, 0)
	before, err := a.quoted()
	require.NoError(t, err)
	c := again(t, a.f.Checkpoint())
	a.f = NewFold(FoldConfig{LeastDepth: 100}, venue.List{arrayed{}, twin{}})
	require.NoError(t, a.f.Restore(c))
	after, err := a.quoted()
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.Len(t, a.f.Explicit(), 2)
}
