package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"

	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/state"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/clmm"
	"github.com/mintlake/mintlake/swap/venue/dlmm"
	"github.com/mintlake/mintlake/swap/venue/whirlpool"
)

// mostWindowBytes is what the windows of 10,000 concentrated pools may take.
const mostWindowBytes = 200 << 20

// concentrated is a venue whose pools hold their liquidity in arrays: how its accounts are made.
type concentrated struct {
	venue.Venue
	count int
	// pool makes a pool account, and array the array with a number, whose address has seed.
	pool  func(mints [2]pubkey.Key) []byte
	seed  func(number int) []byte
	name  string
	array func(pool pubkey.Key, number int, random *rand.Rand) []byte
}

func putKeys(data []byte, keys map[int]pubkey.Key) {
	for at, key := range keys {
		copy(data[at:], key[:])
	}
}

func put64(data []byte, numbers map[int]uint64) {
	for at, n := range numbers {
		binary.LittleEndian.PutUint64(data[at:], n)
	}
}

func put32(data []byte, at int, n int) { binary.LittleEndian.PutUint32(data[at:], uint32(int32(n))) }

// someTicks calls use with places of an array: some 22 of them, as the busiest pools have.
func someTicks(of int, random *rand.Rand, use func(place int)) {
	places := random.Perm(of)[:16+random.IntN(13)]
	slices.Sort(places)
	for _, place := range places {
		use(place)
	}
}

// tickSpacing is that of all pools, and their bin step.
const tickSpacing = 10

// concentratedVenues are 4,000 pools of CLMM, 3,000 of Whirlpool and 3,000 of DLMM at the price 1.
func concentratedVenues() []concentrated {
	return []concentrated{clmmPools(), whirlpoolPools(), dlmmPools()}
}

// clmmPools are pools of Raydium CLMM.
func clmmPools() concentrated {
	return concentrated{
		Venue: clmm.Raydium, count: 4000, name: "tick_array",
		pool: func(mints [2]pubkey.Key) []byte {
			data := make([]byte, 1544)
			copy(data, []byte{0xf7, 0xed, 0xe3, 0xf5, 0xd7, 0xc3, 0xde, 0x46})
			putKeys(data, map[int]pubkey.Key{9: swaptest.Named("config"), 73: mints[0], 105: mints[1], 137: swaptest.Named("0"), 169: swaptest.Named("1")})
			put64(data, map[int]uint64{235: tickSpacing, 261: 1})
			put64(data, map[int]uint64{237: 1 << 40})
			for i := range 16 {
				put64(data, map[int]uint64{904 + 8*i: ^uint64(0)})
			}
			return data
		},
		seed: func(number int) []byte {
			return binary.BigEndian.AppendUint32(nil, uint32(int32(number*60*tickSpacing)))
		},
		array: func(pool pubkey.Key, number int, random *rand.Rand) []byte {
			data := make([]byte, 10_240)
			copy(data, []byte{0xc0, 0x9b, 0x55, 0xcd, 0x31, 0xf9, 0x81, 0x2a})
			putKeys(data, map[int]pubkey.Key{8: pool})
			put32(data, 40, number*60*tickSpacing)
			someTicks(60, random, func(place int) {
				at := 44 + 168*place
				put32(data, at, (number*60+place)*tickSpacing)
				put64(data, map[int]uint64{at + 4: random.Uint64N(1 << 30), at + 20: 1 << 30})
			})
			return data
		},
	}
}

// whirlpoolPools are pools of Whirlpool.
func whirlpoolPools() concentrated {
	return concentrated{
		Venue: whirlpool.Venue{}, count: 3000, name: "tick_array",
		pool: func(mints [2]pubkey.Key) []byte {
			data := make([]byte, whirlpool.PoolSize)
			copy(data, []byte{0x3f, 0x95, 0xd1, 0x0c, 0xe1, 0x80, 0x63, 0x09})
			putKeys(data, map[int]pubkey.Key{101: mints[0], 133: swaptest.Named("0"), 181: mints[1], 213: swaptest.Named("1")})
			data[41], data[43], data[45] = tickSpacing, tickSpacing, 100
			put64(data, map[int]uint64{49: 1 << 40, 73: 1})
			return data
		},
		seed: func(number int) []byte { return []byte(strconv.Itoa(number * 88 * tickSpacing)) },
		array: func(pool pubkey.Key, number int, random *rand.Rand) []byte {
			data := make([]byte, 9988)
			copy(data, []byte{0x45, 0x61, 0xbd, 0xbe, 0x6e, 0x07, 0x42, 0xbb})
			put32(data, 8, number*88*tickSpacing)
			putKeys(data, map[int]pubkey.Key{9956: pool})
			someTicks(88, random, func(place int) {
				at := 12 + 113*place
				data[at] = 1
				put64(data, map[int]uint64{at + 1: random.Uint64N(1 << 30), at + 17: 1 << 30})
			})
			return data
		},
	}
}

// dlmmPools are pools of DLMM. Half of the bins of a pair are above the price.
func dlmmPools() concentrated {
	return concentrated{
		Venue: dlmm.Venue{}, count: 3000, name: "bin_array",
		pool: func(mints [2]pubkey.Key) []byte {
			data := make([]byte, dlmm.PoolSize)
			copy(data, []byte{0x21, 0x0b, 0x31, 0x62, 0xb5, 0x65, 0xb1, 0x0d})
			putKeys(data, map[int]pubkey.Key{88: mints[0], 120: mints[1], 152: swaptest.Named("0"), 184: swaptest.Named("1")})
			binary.LittleEndian.PutUint16(data[8:], 10_000)
			binary.LittleEndian.PutUint16(data[80:], tickSpacing)
			put32(data, 24, -400_000)
			put32(data, 28, 400_000)
			for i := range 16 {
				put64(data, map[int]uint64{584 + 8*i: ^uint64(0)})
			}
			return data
		},
		seed: func(number int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(int64(number))) },
		array: func(pool pubkey.Key, number int, random *rand.Rand) []byte {
			data := make([]byte, 10_136)
			copy(data, []byte{0x5c, 0x8e, 0x5c, 0xdc, 0x05, 0x94, 0x46, 0xb5})
			put64(data, map[int]uint64{8: uint64(int64(number))})
			putKeys(data, map[int]pubkey.Key{24: pool})
			for bin := range 70 {
				at := 56 + 144*bin
				put64(data, map[int]uint64{at + 24: 1}) // its price
				if number*70+bin >= 0 {
					put64(data, map[int]uint64{at: random.Uint64N(1 << 40)})
				}
				if number*70+bin <= 0 {
					put64(data, map[int]uint64{at + 8: random.Uint64N(1 << 40)})
				}
			}
			return data
		},
	}
}

// windows measures what 10,000 concentrated pools take with their windows.
func windows(r *report.Report) error {
	start, list := heap(), concentratedVenues()
	var known venue.List
	for _, c := range list {
		known = append(known, c.Venue)
	}
	h := &windowHolder{fold: state.NewFold(bounds, known), random: rand.New(rand.NewPCG(34, 1))}
	h.fold.Block(state.Block{Slot: 1, UnixTime: 1})
	h.fold.Confirmed(1, 0)
	for i := range list {
		for n := range list[i].count {
			if err := h.hold(&list[i], n); err != nil {
				return fmt.Errorf("%s: %w", list[i].Name(), err)
			}
		}
	}
	h.fold.Block(state.Block{Slot: 2, Parent: 1, UnixTime: 1})
	h.fold.Finalized(2, 0)
	h.fold.Publish()
	took := float64(heap() - start)
	runtime.KeepAlive(h)
	r.Add(report.Figure{
		Name: "memory of 10,000 concentrated pools with their windows", Value: took / (1 << 20), Unit: "MiB", Goal: "<= 200", Met: took <= mostWindowBytes,
		Note: fmt.Sprintf("%d arrays, %.1f MiB of account data in their compact forms", h.arrays, float64(h.fold.Bytes())/(1<<20)),
	})
	return nil
}

// windowHolder is a state that concentrated pools are written to.
type windowHolder struct {
	fold   *state.Fold
	random *rand.Rand
	order  uint64
	arrays int
}

func (h *windowHolder) write(key pubkey.Key, account *solana.Account) {
	h.order++
	h.fold.Write(state.Write{Slot: 2, Order: h.order, Key: key, Account: account})
}

var errNoWindow = errors.New("the pool has no window")

// hold writes the n-th pool of a venue, of a token with SOL, and all arrays of its window.
func (h *windowHolder) hold(c *concentrated, n int) error {
	token, address := swaptest.Named(fmt.Sprint(c.Name(), " token ", n)), swaptest.Named(fmt.Sprint(c.Name(), " pool ", n))
	var mints [2]pubkey.Key
	mints[0], mints[1] = venue.Ordered(token, mint.WrappedSOL)
	account := &solana.Account{Owner: c.Program(), Lamports: 1, Data: c.pool(mints)}
	ref, err := c.Open(address, account.Data)
	if err != nil {
		return err
	}
	w, ok := ref.(venue.Windowed)
	if !ok {
		return errNoWindow
	}
	h.fold.Listed(address, account)
	h.write(address, account)
	h.write(token, mintAccount())
	window := slices.Concat(w.Near(), w.Spare())
	for number := -8; number <= 8; number++ {
		key, err := venue.Derive(c.Program(), []byte(c.name), address[:], c.seed(number))
		if err != nil {
			return err
		}
		if slices.Contains(window, key) {
			h.arrays++
			h.write(key, &solana.Account{Owner: c.Program(), Lamports: 1, Data: c.array(address, number, h.random)})
		}
	}
	return nil
}
