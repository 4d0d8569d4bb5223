package all_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/swaptest"
	"github.com/mintlake/mintlake/swap/txn"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
	"github.com/mintlake/mintlake/swap/venue/pumpswap"
)

// caseCount is how many swaps of each venue are run.
func caseCount(t *testing.T) int {
	t.Helper()
	text := os.Getenv("MINTLAKE_TEST_PROGRAMS")
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "MINTLAKE_TEST_PROGRAMS=%s: how many swaps of each venue", text)
	return n
}

// now is the chain's time in all cases.
var now = venue.Clock{Slot: 450_000_000, Epoch: 2, UnixTime: 1_790_000_000}

// rich is what the user holds of everything before a swap.
const rich = 1 << 61

// rent is what accounts hold besides; tokenRent what wrapped SOL takes off for it.
const (
	rent      = 1_000_000_000
	tokenRent = 2_039_280
)

type account struct {
	Key      string `json:"key"`
	Owner    string `json:"owner"`
	Lamports string `json:"lamports"`
	Data     []byte `json:"data"`
}

type watch struct {
	Key   string `json:"key"`
	Token bool   `json:"token"`
	Want  string `json:"want"`
}

// scene makes cases. Accounts that stand for the case are in held, as the venue's state reads them.
type scene struct {
	t       *testing.T
	encoder *json.Encoder
	random  *rand.Rand
	user    venue.Key
	held    map[venue.Key]*solana.Account
	coin    venue.Key
	cases   int
	limits  map[string]uint32
	counts  map[string]int
}

func newScene(t *testing.T, encoder *json.Encoder) *scene {
	t.Helper()
	return &scene{
		t: t, encoder: encoder, random: rand.New(rand.NewPCG(1, 2)), user: swaptest.Named("user"),
		limits: map[string]uint32{}, counts: map[string]int{},
	}
}

func (s *scene) run(count int) {
	for i := range count {
		s.ammV4(i)
		s.pumpSwap(i)
		s.curve(i)
	}
}

// amount draws from 1 to 2^bits, of any size.
func (s *scene) amount(least, most int) uint64 {
	bits := least + s.random.IntN(most-least)
	return 1<<bits + s.random.Uint64N(1<<bits)
}

// begin empties the scene.
func (s *scene) begin() {
	s.held = map[venue.Key]*solana.Account{s.user: {Lamports: rich, Owner: venue.SystemProgram}}
	s.coin = swaptest.Named("coin")
	s.mint(mint.WrappedSOL, mint.Token, 1<<62)
}

func (s *scene) set(key, owner venue.Key, data []byte) {
	s.held[key] = &solana.Account{Owner: owner, Data: data, Lamports: rent}
}

func (s *scene) mint(key, program venue.Key, supply uint64) {
	data := make([]byte, 82)
	binary.LittleEndian.PutUint64(data[36:], supply)
	data[44], data[45] = 6, 1
	s.set(key, program, data)
}

// token puts a token account. Wrapped SOL is lamports too.
func (s *scene) token(key, owner, of venue.Key, amount uint64) {
	data := make([]byte, 165)
	copy(data, of[:])
	copy(data[32:], owner[:])
	binary.LittleEndian.PutUint64(data[64:], amount)
	data[108] = 1
	s.set(key, s.held[of].Owner, data)
	if of == mint.WrappedSOL {
		data[109] = 1
		binary.LittleEndian.PutUint64(data[113:], tokenRent)
		s.held[key].Lamports = tokenRent + amount
	}
}

// associated puts an owner's associated account.
func (s *scene) associated(owner, of venue.Key, amount uint64) venue.Key {
	key, err := venue.AssociatedAccount(owner, of, s.held[of].Owner)
	require.NoError(s.t, err)
	s.token(key, owner, of, amount)
	return key
}

// keys in an account's data by offset.
func keysAt(data []byte, keys map[int]venue.Key) {
	for at, key := range keys {
		copy(data[at:], key[:])
	}
}

func numbersAt(data []byte, numbers map[int]uint64) {
	for at, n := range numbers {
		binary.LittleEndian.PutUint64(data[at:], n)
	}
}

// shared is the data of a recorded account.
func (s *scene) shared(name string) []byte {
	raw, err := os.ReadFile(testkit.Shared(s.t, "data/swap-vectors/pumpswap/"+name))
	require.NoError(s.t, err)
	var file struct {
		Data []byte `json:"data_base64"`
	}
	require.NoError(s.t, json.Unmarshal(raw, &file))
	return file.Data
}

// swap quotes an order on the scene's pool, builds the transaction and writes the case.
func (s *scene) swap(kind string, id int, v venue.Venue, address venue.Key, order venue.Order) {
	t := s.t
	ref, err := v.Open(address, s.held[address].Data, s.coin, mint.WrappedSOL)
	require.NoError(t, err)
	pool, err := ref.Decode(venue.NewAccounts(s.held))
	require.NoError(t, err)
	order.Clock = now
	q, err := pool.Quote(order)
	if err != nil {
		require.NotEmpty(t, venue.RefusalOf(err), err)
		return
	}
	limit := q.AmountOut
	if order.ExactOut {
		limit = q.AmountIn
	}
	wraps := order.Amount
	if order.ExactOut {
		wraps = q.AmountIn
	}
	side := func(key venue.Key) txn.Side { return txn.Side{Mint: key, Program: s.held[key].Owner} }
	built, err := txn.Build(txn.Request{User: s.user, In: side(order.In), Out: side(q.Out), HasWrapped: true, Swaps: []txn.Swap{{
		In: side(order.In), Out: side(q.Out), Spend: wraps, Native: q.Native, Units: q.ComputeUnits,
		Instructions: func(user venue.UserAccounts) ([]venue.Instruction, error) { return pool.Instructions(q, limit, user) },
	}}})
	require.NoError(t, err)
	s.write(kind, id, order, q, built)
}

func (s *scene) write(kind string, id int, order venue.Order, q venue.Quote, built *txn.Transaction) {
	if order.ExactOut {
		kind += " exact out"
	}
	// Fewer accounts to create means a lower limit: the lowest counts.
	if least := s.limits[kind]; least == 0 || built.ComputeUnits < least {
		s.limits[kind] = built.ComputeUnits
	}
	const fee = 5000
	var accounts []account
	for key, a := range s.held {
		accounts = append(accounts, account{key.String(), a.Owner.String(), fmt.Sprint(a.Lamports), a.Data})
	}
	var watches []watch
	for _, leg := range []struct {
		mint     venue.Key
		out      uint64
		in, wrap uint64
	}{{order.In, 0, q.AmountIn, q.AmountIn}, {q.Out, q.AmountOut, 0, 0}} {
		if leg.mint == mint.WrappedSOL && q.Native {
			watches = append(watches, watch{s.user.String(), false, fmt.Sprint(uint64(rich) + leg.out - leg.in - fee)})
			continue
		}
		key, err := venue.AssociatedAccount(s.user, leg.mint, s.held[leg.mint].Owner)
		require.NoError(s.t, err)
		want := uint64(rich) + leg.out - leg.in
		if leg.mint == mint.WrappedSOL && leg.in > 0 {
			// What was wrapped for it lies there besides; more than was used stays.
			if want = rich; !order.ExactOut {
				want += order.Amount - leg.in
			}
		}
		watches = append(watches, watch{key.String(), true, fmt.Sprint(want)})
	}
	s.cases++
	s.counts[kind]++
	require.NoError(s.t, s.encoder.Encode(map[string]any{
		"t": "case", "id": fmt.Sprintf("%s %d: %d for %d", kind, id, q.AmountIn, q.AmountOut), "kind": kind, "slot": now.Slot, "time": now.UnixTime,
		"accounts": accounts, "wire": base64.StdEncoding.EncodeToString(built.Bytes), "watch": watches,
	}))
}

// order draws one: what of the pool's first or second mint.
func (s *scene) order(in venue.Key, most int) venue.Order {
	return venue.Order{In: in, Amount: s.amount(3, most), ExactOut: s.random.IntN(3) == 0}
}

// flag draws 0 or 1.
func (s *scene) flag() byte { return byte(s.random.IntN(2)) }

func (s *scene) either(a, b venue.Key) venue.Key {
	if s.random.IntN(2) == 0 {
		return a
	}
	return b
}

// ammV4 is a swap on a pool of two SPL tokens.
func (s *scene) ammV4(id int) {
	s.begin()
	v := venues["raydium_amm_v4"]
	s.mint(s.coin, mint.Token, 1<<62)
	pool, vault0, vault1 := swaptest.Named("v4"), swaptest.Named("v4 coin"), swaptest.Named("v4 price")
	authority, nonce := ammAuthority(s.t)
	data := make([]byte, 752)
	numbersAt(data, map[int]uint64{
		0: 6, 8: nonce, 16: 7, 24: 3, 32: 6, 40: 9, 48: 1, 64: 1, 72: 1, 80: 1, 88: 1, 96: 1, 104: 1, 112: 1, 120: 1_000_000_000,
		128: 5, 136: 10_000, 144: 25, 152: 10_000, 160: 12, 168: 100, 176: uint64(s.random.IntN(100)), 184: 10_000,
		192: s.random.Uint64N(1000), 200: s.random.Uint64N(1000), 720: 1 << 40,
	})
	keysAt(data, map[int]venue.Key{336: vault0, 368: vault1, 400: s.coin, 432: mint.WrappedSOL})
	s.set(pool, v.Program(), data)
	s.token(vault0, authority, s.coin, s.amount(12, 58))
	s.token(vault1, authority, mint.WrappedSOL, s.amount(12, 58))
	s.associated(s.user, s.coin, rich)
	s.associated(s.user, mint.WrappedSOL, rich)
	s.swap("raydium_amm_v4", id, v, pool, s.order(s.either(s.coin, mint.WrappedSOL), 57))
}

// pumpSwap is a swap on a pool of a Token-2022 coin and SOL under mainnet's configuration.
func (s *scene) pumpSwap(id int) {
	s.begin()
	v := venues["pumpswap"]
	s.mint(s.coin, s.either(mint.Token, mint.Token2022), s.amount(40, 52))
	config := venue.Padded(s.shared("mainnet_global_config_ADyA8hde.json"), 949)
	config[940] = s.flag() // creators may set their fee
	s.set(pumpswap.GlobalConfig, v.Program(), config)
	s.set(pumpswap.FeeConfig, pumpfees.Program, s.shared("mainnet_amm_fee_config_5PHirr8joyTMp9JMm6nW7hNDVyEYdkzDqazxPD7RaTjx_slot445186127.json"))
	creator, coinCreator := s.either(swaptest.Named("someone"), venue.MustDerive(pumpswap.Curve, []byte("pool-authority"), s.coin[:])), s.either(venue.Key{}, swaptest.Named("creator"))
	pool, bump := pumpSwapPool(s.t, creator, s.coin)
	data := make([]byte, 301)
	copy(data, []byte{0xf1, 0x9a, 0x6d, 0x04, 0x11, 0xb1, 0x6d, 0xbc, bump})
	vaults := [2]venue.Key{s.associated(pool, s.coin, s.amount(20, 50)), s.associated(pool, mint.WrappedSOL, s.amount(20, 50))}
	keysAt(data, map[int]venue.Key{11: creator, 43: s.coin, 75: mint.WrappedSOL, 107: swaptest.Named("lp"), 139: vaults[0], 171: vaults[1], 211: coinCreator})
	numbersAt(data, map[int]uint64{203: 1 << 40, 245: s.random.Uint64N(1 << 36), 261: uint64(s.flag()) * s.random.Uint64N(500)})
	data[243], data[244] = s.flag(), s.flag() // mayhem, cashback
	s.set(pool, v.Program(), data)
	vaultAuthority := venue.MustDerive(v.Program(), []byte("creator_vault"), coinCreator[:])
	for _, owner := range []venue.Key{venue.FirstKey(config[57:], 8), venue.FirstKey(config[385:], 1), venue.FirstKey(config[643:], 8), vaultAuthority} {
		s.associated(owner, mint.WrappedSOL, 0)
	}
	s.accumulators(v.Program())
	s.associated(s.user, s.coin, rich)
	s.associated(s.user, mint.WrappedSOL, rich)
	s.swap("pumpswap", id, v, pool, s.order(s.either(s.coin, mint.WrappedSOL), 49))
}

// accumulators are the global volume accumulator and the user's.
func (s *scene) accumulators(program venue.Key) {
	global := make([]byte, 544)
	copy(global, []byte{202, 42, 246, 43, 142, 190, 30, 255})
	binary.LittleEndian.PutUint64(global[24:], 86_400)
	s.set(venue.MustDerive(program, []byte("global_volume_accumulator")), program, global)
	user := make([]byte, 137)
	copy(user, []byte{86, 255, 112, 14, 102, 53, 154, 250})
	copy(user[8:], s.user[:])
	s.set(venue.MustDerive(program, []byte("user_volume_accumulator"), s.user[:]), program, user)
}
