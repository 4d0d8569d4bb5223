package svmtest

import (
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"

	sdk "github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/ammv4"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
	"github.com/mintlake/mintlake/swap/venue/pumpswap"
	"github.com/mintlake/mintlake/testworld/layout"
)

// Now is the time of the chain in all scenes.
var Now = venue.Clock{Slot: 450_000_000, Epoch: 2, UnixTime: 1_790_000_000}

const (
	// Rich is how much the user has of every token before a swap.
	Rich = 1 << 61
	// Rent is how many lamports each account has, apart from wrapped SOL.
	Rent = 1_000_000_000
	// LamportsPerByte is the rent of LiteSVM 1.5.0.
	LamportsPerByte = 6_960
	// TokenRent is the rent of an account for wrapped SOL, which its amount does not include.
	TokenRent = 2_039_280
)

// Scene has accounts that the venues' programs accept: pools, and everything else that swaps on
// them use.
type Scene struct {
	t      testing.TB
	Random *rand.Rand
	// User makes the swaps.
	User venue.Key
	// Held are the scene's accounts.
	Held map[venue.Key]*solana.Account
}

// NewScene makes a scene with a user and wrapped SOL. Equal seeds give equal pools.
func NewScene(t testing.TB, user venue.Key, seed uint64) *Scene {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // the same cases in each run
	s := &Scene{t: t, Random: random, User: user}
	s.Clear()
	return s
}

// Clear removes all accounts except the user and wrapped SOL.
func (s *Scene) Clear() {
	s.Held = map[venue.Key]*solana.Account{s.User: {Lamports: Rich, Owner: venue.SystemProgram}}
	s.Mint(mint.WrappedSOL, mint.Token, 1<<62)
}

// Amount draws a number from 2^least to 2^most. Each length in bits is equally likely.
func (s *Scene) Amount(least, most int) uint64 {
	bits := least + s.Random.IntN(most-least)
	return 1<<bits + s.Random.Uint64N(1<<bits)
}

// deep draws what a vault holds: an amount from 2^depth[0] to 2^depth[1]. If the two are equal, the
// amount is at most 1/32 above 2^depth[0], so that all pools have about the same price.
func (s *Scene) deep(depth [2]int) uint64 {
	if depth[0] == depth[1] {
		return 1<<depth[0] + s.Random.Uint64N(1<<(depth[0]-5))
	}
	return s.Amount(depth[0], depth[1])
}

// flag draws 0 or 1.
func (s *Scene) flag() byte { return byte(s.Random.IntN(2)) }

// Either draws one of two keys.
func (s *Scene) Either(a, b venue.Key) venue.Key {
	if s.Random.IntN(2) == 0 {
		return a
	}
	return b
}

func (s *Scene) set(key, owner venue.Key, data []byte) {
	s.Held[key] = &solana.Account{Owner: owner, Data: data, Lamports: Rent}
}

// Mint adds a mint with 6 decimals.
func (s *Scene) Mint(key, program venue.Key, supply uint64) {
	data := layout.Mint{Supply: supply, Decimals: 6}
	s.set(key, program, data.Bytes())
}

// token adds a token account of a mint. An account for wrapped SOL has the amount in lamports too.
func (s *Scene) token(key, owner, mintKey venue.Key, amount uint64) {
	account := layout.TokenAccount{Mint: mintKey, Owner: owner, Amount: amount}
	if mintKey == mint.WrappedSOL {
		account.Native, account.Reserve = true, TokenRent
	}
	s.set(key, s.Held[mintKey].Owner, account.Bytes())
	if account.Native {
		s.Held[key].Lamports = TokenRent + amount
	}
}

// Account returns the address of an owner's associated account for a mint.
func (s *Scene) Account(owner, mintKey venue.Key) venue.Key {
	key, err := venue.AssociatedAccount(owner, mintKey, s.Held[mintKey].Owner)
	require.NoError(s.t, err)
	return key
}

// Associated adds an owner's associated account and returns its address.
func (s *Scene) Associated(owner, mintKey venue.Key, amount uint64) venue.Key {
	key := s.Account(owner, mintKey)
	s.token(key, owner, mintKey, amount)
	return key
}

// KeysAt writes keys into an account's data, by their offset.
func KeysAt(data []byte, keys map[int]venue.Key) {
	for at, key := range keys {
		copy(data[at:], key[:])
	}
}

// NumbersAt writes 64-bit numbers into an account's data, by their offset.
func NumbersAt(data []byte, numbers map[int]uint64) {
	for at, n := range numbers {
		binary.LittleEndian.PutUint64(data[at:], n)
	}
}

// Files of accounts recorded on mainnet.
const (
	PumpSwapConfig = "mainnet_global_config_ADyA8hde.json"
	PumpSwapFees   = "mainnet_amm_fee_config_5PHirr8joyTMp9JMm6nW7hNDVyEYdkzDqazxPD7RaTjx_slot445186127.json"
)

// Recorded returns the data of a recorded account.
func Recorded(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(testkit.Shared(t, "data/swap-vectors/pumpswap/"+name))
	require.NoError(t, err)
	var file struct {
		Data []byte `json:"data_base64"`
	}
	require.NoError(t, json.Unmarshal(raw, &file))
	return file.Data
}

// derived returns a program derived address and its bump.
func (s *Scene) derived(program venue.Key, seeds ...[]byte) (venue.Key, byte) {
	address, bump, err := sdk.FindProgramAddress(seeds, sdk.PublicKey(program))
	require.NoError(s.t, err)
	return venue.Key(address), bump
}

// AMMV4 adds a pool of a coin and SOL. depth bounds what its vaults hold, see deep. The offsets are
// those of AmmInfo in raydium-amm's state.rs: the numbers up to 120 are the status and the order
// book's parameters, those from 128 on the fees.
func (s *Scene) AMMV4(name string, coin venue.Key, depth [2]int) (pool venue.Key) {
	pool = swaptest.Named(name)
	vault0, vault1 := swaptest.Named(name+" coin"), swaptest.Named(name+" price")
	authority, nonce := s.derived(ammv4.Program, []byte("amm authority"))
	data := make([]byte, 752)
	NumbersAt(data, map[int]uint64{
		0: 6, 8: uint64(nonce), 16: 7, 24: 3, 32: 6, 40: 9, 48: 1, 64: 1, 72: 1, 80: 1, 88: 1, 96: 1, 104: 1, 112: 1, 120: 1_000_000_000,
		128: 5, 136: 10_000, 144: 25, 152: 10_000, 160: 12, 168: 100, 176: uint64(s.Random.IntN(100)), 184: 10_000,
		192: s.Random.Uint64N(1000), 200: s.Random.Uint64N(1000), 720: 1 << 40,
	})
	KeysAt(data, map[int]venue.Key{336: vault0, 368: vault1, 400: coin, 432: mint.WrappedSOL})
	s.set(pool, ammv4.Program, data)
	s.token(vault0, authority, coin, s.deep(depth))
	s.token(vault1, authority, mint.WrappedSOL, s.deep(depth))
	return pool
}

// PumpSwap adds a pool of a coin and SOL, with mainnet's configuration. The price of a boosted pool
// counts virtual reserves. The package pumpswap names the offsets (state.go).
func (s *Scene) PumpSwap(coin venue.Key, depth [2]int, boosted bool) (pool venue.Key) {
	creator := s.Either(swaptest.Named("someone"), venue.MustDerive(pumpswap.Curve, []byte("pool-authority"), coin[:]))
	pool = s.pumpSwap(coin, mint.WrappedSOL, creator, depth)
	if data := s.Held[pool].Data; boosted {
		NumbersAt(data, map[int]uint64{245: s.Random.Uint64N(1 << 36)})
	}
	return pool
}

// Coin adds a coin of pump's whose pool took over from its curve. It is quoted in SOL or in another
// coin. flags are 0 or 1: whether the pool is in mayhem mode, and whether it pays cashback.
func (s *Scene) Coin(coin, quote venue.Key, depth [2]int, flags [2]byte) (pool venue.Key) {
	pool = s.pumpSwap(coin, quote, venue.MustDerive(pumpswap.Curve, []byte("pool-authority"), coin[:]), depth)
	copy(s.Held[pool].Data[243:], flags[:])
	s.curveGlobals()
	address, err := pumpcurve.Address(coin)
	require.NoError(s.t, err)
	data := make([]byte, 166)
	copy(data, []byte{0x17, 0xb7, 0xf8, 0x37, 0x60, 0xd8, 0xac, 0x60})
	data[48] = 1 // complete
	if quote != mint.WrappedSOL {
		KeysAt(data, map[int]venue.Key{83: quote})
	}
	s.set(address, pumpcurve.Program, data)
	return pool
}

// pumpSwap adds a pool that creator made.
func (s *Scene) pumpSwap(coin, quote, creator venue.Key, depth [2]int) (pool venue.Key) {
	config := venue.Padded(Recorded(s.t, PumpSwapConfig), 949)
	config[940] = s.flag() // creators may set their fee
	s.set(pumpswap.GlobalConfig, pumpswap.Program, config)
	s.set(pumpswap.FeeConfig, pumpfees.Program, Recorded(s.t, PumpSwapFees))
	coinCreator := s.Either(venue.Key{}, swaptest.Named("creator"))
	pool, bump := s.derived(pumpswap.Program, []byte("pool"), []byte{0, 0}, creator[:], coin[:], quote[:])
	data := make([]byte, 301)
	copy(data, []byte{0xf1, 0x9a, 0x6d, 0x04, 0x11, 0xb1, 0x6d, 0xbc, bump})
	vaults := [2]venue.Key{s.Associated(pool, coin, s.deep(depth)), s.Associated(pool, quote, s.deep(depth))}
	KeysAt(data, map[int]venue.Key{11: creator, 43: coin, 75: quote, 107: swaptest.Named("lp"), 139: vaults[0], 171: vaults[1], 211: coinCreator})
	NumbersAt(data, map[int]uint64{203: 1 << 40, 261: uint64(s.flag()) * s.Random.Uint64N(500)})
	data[243], data[244] = s.flag(), s.flag() // mayhem, cashback
	s.set(pool, pumpswap.Program, data)
	vaultAuthority := venue.MustDerive(pumpswap.Program, []byte("creator_vault"), coinCreator[:])
	for _, owner := range []venue.Key{venue.FirstKey(config[57:], 8), venue.FirstKey(config[385:], 1), venue.FirstKey(config[643:], 8), vaultAuthority} {
		s.Associated(owner, quote, 0)
	}
	s.accumulators(pumpswap.Program)
	return pool
}

// accumulators adds the program's global volume accumulator and its accumulator of the user.
func (s *Scene) accumulators(program venue.Key) {
	global := make([]byte, 544)
	copy(global, []byte{202, 42, 246, 43, 142, 190, 30, 255})
	binary.LittleEndian.PutUint64(global[24:], 86_400)
	s.set(venue.MustDerive(program, []byte("global_volume_accumulator")), program, global)
	user := make([]byte, 137)
	copy(user, []byte{86, 255, 112, 14, 102, 53, 154, 250})
	copy(user[8:], s.User[:])
	s.set(venue.MustDerive(program, []byte("user_volume_accumulator"), s.User[:]), program, user)
}

// Curve adds a coin's curve against SOL. Its account is a short one, for version 2 of the
// instructions, or a longer one for version 3. The coin is of Token-2022. The package pumpcurve
// names the offsets (state.go).
func (s *Scene) Curve(coin venue.Key, version int) (address venue.Key) {
	program := pumpcurve.Program
	s.Mint(coin, mint.Token2022, 1_000_000_000_000_000)
	s.curveGlobals()
	address, err := pumpcurve.Address(coin)
	require.NoError(s.t, err)
	sold := s.Random.Uint64N(793_000_000_000_000)
	// The product of a new curve: 30 SOL times 1,073 million coins.
	tokens := 1_073_000_000_000_000 - sold
	quote := 32_190_000_000_000_000 / (tokens / 1_000_000_000)
	data := make([]byte, 166)
	copy(data, []byte{0x17, 0xb7, 0xf8, 0x37, 0x60, 0xd8, 0xac, 0x60})
	NumbersAt(data, map[int]uint64{8: tokens, 16: quote, 24: 793_100_000_000_000 - sold, 32: quote - 30_000_000_000, 40: 1_000_000_000_000_000, 142: 30_000_000_000})
	creator := s.Either(venue.Key{}, swaptest.Named("creator"))
	KeysAt(data, map[int]venue.Key{49: creator})
	if version == 2 {
		data = data[:125]
		data[82] = s.flag() // cashback
	}
	s.set(address, program, data)
	s.Held[address].Lamports = Rent + quote - 30_000_000_000
	s.Associated(address, coin, 1_000_000_000_000_000-sold)
	s.Associated(address, mint.WrappedSOL, 0)
	s.accumulators(program)
	volume := venue.MustDerive(program, []byte("user_volume_accumulator"), s.User[:])
	vault := venue.MustDerive(program, []byte("creator-vault"), creator[:])
	for _, owner := range []venue.Key{swaptest.Named("recipient"), swaptest.Named("buyback"), vault} {
		s.set(owner, venue.SystemProgram, nil)
	}
	for _, owner := range []venue.Key{swaptest.Named("recipient"), swaptest.Named("buyback"), vault, volume} {
		s.Associated(owner, mint.WrappedSOL, 0)
	}
	return address
}

// curveGlobals adds the accounts that all curves share: the Global of pump.json, with the reserves
// and fees of mainnet, and the fee configuration.
func (s *Scene) curveGlobals() {
	program := pumpcurve.Program
	data := make([]byte, 1088)
	copy(data, []byte{0xa7, 0xe8, 0xe8, 0xb1, 0xc8, 0x6c, 0x72, 0x7f, 1})
	NumbersAt(data, map[int]uint64{
		73: 1_073_000_000_000_000, 81: 30_000_000_000, 89: 793_100_000_000_000, 97: 1_000_000_000_000_000, 105: 95, 146: 15_000_000, 154: 30, 997: 5000,
		1005: 30_000_000_000, 1046: 1000,
	})
	data[145], data[450], data[740], data[1045] = 1, 1, 1, 1
	list := map[int]venue.Key{9: swaptest.Named("authority"), 41: swaptest.Named("recipient"), 483: swaptest.Named("reserved")}
	for i := range 7 {
		list[162+32*i], list[516+32*i] = swaptest.Named("recipient"), swaptest.Named("reserved")
	}
	for i := range 8 {
		list[741+32*i] = swaptest.Named("buyback")
	}
	KeysAt(data, list)
	s.set(pumpcurve.Global, program, data)
	fees := Recorded(s.t, PumpSwapFees)
	_, fees[8] = s.derived(pumpfees.Program, []byte("fee_config"), program[:])
	s.set(pumpcurve.FeeConfig, pumpfees.Program, fees)
}
