package all_test

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/all"
	"github.com/mintlake/mintlake/swap/venue/ammv4"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
	"github.com/mintlake/mintlake/swap/venue/pumpswap"
)

// venues by name.
var venues = func() map[string]venue.Venue {
	byName := map[string]venue.Venue{}
	for _, v := range all.Venues() {
		byName[v.Name()] = v
	}
	return byName
}()

// ammAuthority is AMM v4's authority and the nonce that derives it.
func ammAuthority(t *testing.T) (venue.Key, uint64) {
	t.Helper()
	address, nonce, err := solana.FindProgramAddress([][]byte{[]byte("amm authority")}, solana.PublicKey(ammv4.Program))
	require.NoError(t, err)
	return venue.Key(address), uint64(nonce)
}

// pumpSwapPool is the address of a pool of index 0.
func pumpSwapPool(t *testing.T, creator, coin venue.Key) (venue.Key, byte) {
	t.Helper()
	address, bump, err := solana.FindProgramAddress([][]byte{[]byte("pool"), {0, 0}, creator[:], coin[:], mint.WrappedSOL[:]}, solana.PublicKey(pumpswap.Program))
	require.NoError(t, err)
	return venue.Key(address), bump
}

// curve is a swap on a curve in SOL: of an old account by version 2, of a longer one by version 3.
func (s *scene) curve(id int) {
	s.begin()
	v := venues["pump_curve"]
	s.mint(s.coin, mint.Token2022, 1_000_000_000_000_000)
	s.curveGlobals()
	address, err := pumpcurve.Address(s.coin)
	require.NoError(s.t, err)
	sold := s.random.Uint64N(793_000_000_000_000)
	tokens := 1_073_000_000_000_000 - sold
	quote := 32_190_000_000_000_000 / (tokens / 1_000_000)
	data := make([]byte, 166)
	copy(data, []byte{0x17, 0xb7, 0xf8, 0x37, 0x60, 0xd8, 0xac, 0x60})
	numbersAt(data, map[int]uint64{8: tokens, 16: quote, 24: 793_100_000_000_000 - sold, 32: quote - 30_000_000_000, 40: 1_000_000_000_000_000, 142: 30_000_000_000})
	creator := s.either(venue.Key{}, swaptest.Named("creator"))
	keysAt(data, map[int]venue.Key{49: creator})
	kind := "pump_curve v3"
	if s.random.IntN(2) == 0 {
		kind, data = "pump_curve v2", data[:125]
		data[82] = byte(s.random.IntN(2)) // cashback
	}
	s.set(address, v.Program(), data)
	s.held[address].Lamports = rent + quote - 30_000_000_000
	s.associated(address, s.coin, 1_000_000_000_000_000-sold)
	s.associated(address, mint.WrappedSOL, 0)
	s.accumulators(v.Program())
	volume := venue.MustDerive(v.Program(), []byte("user_volume_accumulator"), s.user[:])
	vault := venue.MustDerive(v.Program(), []byte("creator-vault"), creator[:])
	for _, owner := range []venue.Key{swaptest.Named("recipient"), swaptest.Named("buyback"), vault} {
		s.set(owner, venue.SystemProgram, nil)
	}
	for _, owner := range []venue.Key{swaptest.Named("recipient"), swaptest.Named("buyback"), vault, volume} {
		s.associated(owner, mint.WrappedSOL, 0)
	}
	s.associated(s.user, s.coin, rich)
	s.associated(s.user, mint.WrappedSOL, rich)
	order := s.order(s.either(s.coin, mint.WrappedSOL), 36)
	if order.In == s.coin != order.ExactOut {
		order.Amount <<= 10
	}
	s.swap(kind, id, v, address, order)
}

// curveGlobals are the venue's own accounts.
func (s *scene) curveGlobals() {
	program := venues["pump_curve"].Program()
	data := make([]byte, 1088)
	copy(data, []byte{0xa7, 0xe8, 0xe8, 0xb1, 0xc8, 0x6c, 0x72, 0x7f, 1})
	numbersAt(data, map[int]uint64{
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
	keysAt(data, list)
	s.set(pumpcurve.Global, program, data)
	fees := s.shared("mainnet_amm_fee_config_5PHirr8joyTMp9JMm6nW7hNDVyEYdkzDqazxPD7RaTjx_slot445186127.json")
	_, bump, err := solana.FindProgramAddress([][]byte{[]byte("fee_config"), program[:]}, solana.PublicKey(pumpfees.Program))
	require.NoError(s.t, err)
	fees[8] = bump
	s.set(pumpcurve.FeeConfig, pumpfees.Program, fees)
}
