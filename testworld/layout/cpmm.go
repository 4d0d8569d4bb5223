package layout

import "encoding/binary"

// Raydium CPMM: discriminators (raydium-cp-swap).
var (
	CPMMSwapBaseInput  = [8]byte{0x8f, 0xbe, 0x5a, 0xda, 0xc4, 0x1e, 0x33, 0xde}
	CPMMSwapBaseOutput = [8]byte{0x37, 0xd9, 0x62, 0x56, 0xa3, 0x4a, 0xb4, 0xad}
	cpmmPool           = [8]byte{0xf7, 0xed, 0xe3, 0xf5, 0xd7, 0xc3, 0xde, 0x46}
	cpmmConfig         = [8]byte{0xda, 0xf4, 0x21, 0x68, 0xcb, 0xcb, 0x2b, 0x6f}
)

// Sizes of CPMM's accounts and offsets in its configs and pools (raydium-cp-swap, states/pool.rs
// and config.rs).
const (
	CPMMPoolSize        = 637
	CPMMConfigSize      = 236
	CPMMObservationSize = 4075

	ConfigTradeRate    = 12
	ConfigProtocolRate = 20
	ConfigFundRate     = 28
	ConfigCreateFee    = 36
	configCreatorRate  = 108

	PoolConfig        = 8
	PoolVault0        = 72
	PoolMint0         = 168
	PoolProgram0      = 232
	PoolObservation   = 296
	PoolStatus        = 329
	poolLPSupply      = 333
	PoolProtocolFees0 = 341
	PoolFundFees0     = 357
	PoolOpenTime      = 373
	PoolRecentEpoch   = 381
	poolCreatorFeeOn  = 389
	poolCreatorFees0  = 397
)

// CPMMConfig is an AmmConfig. Rates are in millionths: of the amount, but protocol and fund of the
// trade fee.
type CPMMConfig struct {
	Bump                                       byte
	TradeRate, ProtocolRate, FundRate, Creator uint64
	// CreateFee is what a pool costs, in lamports.
	CreateFee uint64
}

// Bytes returns the account's data.
func (c *CPMMConfig) Bytes() []byte {
	d := make([]byte, CPMMConfigSize)
	copy(d, cpmmConfig[:])
	d[8] = c.Bump
	binary.LittleEndian.PutUint64(d[ConfigTradeRate:], c.TradeRate)
	binary.LittleEndian.PutUint64(d[ConfigProtocolRate:], c.ProtocolRate)
	binary.LittleEndian.PutUint64(d[ConfigFundRate:], c.FundRate)
	binary.LittleEndian.PutUint64(d[ConfigCreateFee:], c.CreateFee)
	binary.LittleEndian.PutUint64(d[configCreatorRate:], c.Creator)
	return d
}

// CPMMPool is a PoolState. Fees that lie in the vaults are by side.
type CPMMPool struct {
	Config, Creator                     Key
	Vaults                              [2]Key
	LP                                  Key
	Mints, Programs                     [2]Key
	Observation                         Key
	AuthorityBump, Status, LPDecimals   byte
	Decimals                            [2]byte
	LPSupply                            uint64
	ProtocolFees, FundFees, CreatorFees [2]uint64
	OpenTime, RecentEpoch               uint64
	// CreatorFeeOn says on which token the creator takes a fee, if CreatorFee is set.
	CreatorFeeOn byte
	CreatorFee   bool
}

// Bytes returns the account's data.
func (p *CPMMPool) Bytes() []byte {
	d := make([]byte, CPMMPoolSize)
	copy(d, cpmmPool[:])
	at := 8
	for _, k := range []Key{p.Config, p.Creator, p.Vaults[0], p.Vaults[1], p.LP, p.Mints[0], p.Mints[1], p.Programs[0], p.Programs[1], p.Observation} {
		at += copy(d[at:], k[:])
	}
	d[328], d[PoolStatus], d[330], d[331], d[332] = p.AuthorityBump, p.Status, p.LPDecimals, p.Decimals[0], p.Decimals[1]
	binary.LittleEndian.PutUint64(d[poolLPSupply:], p.LPSupply)
	for side := range 2 {
		binary.LittleEndian.PutUint64(d[PoolProtocolFees0+8*side:], p.ProtocolFees[side])
		binary.LittleEndian.PutUint64(d[PoolFundFees0+8*side:], p.FundFees[side])
		binary.LittleEndian.PutUint64(d[poolCreatorFees0+8*side:], p.CreatorFees[side])
	}
	binary.LittleEndian.PutUint64(d[PoolOpenTime:], p.OpenTime)
	binary.LittleEndian.PutUint64(d[PoolRecentEpoch:], p.RecentEpoch)
	d[poolCreatorFeeOn] = p.CreatorFeeOn
	if p.CreatorFee {
		d[poolCreatorFeeOn+1] = 1
	}
	return d
}

// CPMMObservation returns a new ObservationState of a pool.
func CPMMObservation(pool Key) []byte {
	d := make([]byte, CPMMObservationSize)
	disc := Discriminator("account:ObservationState")
	copy(d, disc[:])
	copy(d[11:], pool[:])
	return d
}

// CPMMSwap returns the data of swap_base_input (first is the amount in, second the least out) or,
// with exactOut, of swap_base_output (the most in, the amount out).
func CPMMSwap(exactOut bool, first, second uint64) []byte {
	disc := CPMMSwapBaseInput
	if exactOut {
		disc = CPMMSwapBaseOutput
	}
	return AppendU64(AppendU64(disc[:], first), second)
}
