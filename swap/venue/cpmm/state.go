package cpmm

import (
	"encoding/binary"
	"fmt"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// Layouts (raydium-cp-swap 609780f, states/pool.rs and config.rs; packed, after Anchor's 8-byte
// discriminator). An account may be longer, as upgrades append fields.
const (
	// PoolSize is the length of a pool account, by which pools are searched for.
	PoolSize = 637

	poolConfig      = 8
	poolVault0      = 72
	poolVault1      = 104
	poolMint0       = 168
	poolMint1       = 200
	poolProgram0    = 232
	poolProgram1    = 264
	poolObservation = 296
	poolStatus      = 329
	poolLPSupply    = 333
	poolFees        = 341 // protocol 0, 1, then fund 0, 1
	poolOpenTime    = 373
	poolCreatorOn   = 389
	poolCreatorFee  = 390
	poolCreatorFees = 397
	poolPrefix      = 413

	configTradeRate    = 12
	configProtocolRate = 20
	configFundRate     = 28
	configCreatorRate  = 108
	configPrefix       = 116

	// statusSwapDisabled is the bit of status that forbids swaps.
	statusSwapDisabled = 1 << 2
)

var (
	poolDiscriminator   = [8]byte{0xf7, 0xed, 0xe3, 0xf5, 0xd7, 0xc3, 0xde, 0x46}
	configDiscriminator = [8]byte{0xda, 0xf4, 0x21, 0x68, 0xcb, 0xcb, 0x2b, 0x6f}
)

// PoolState is a pool account. Arrays are by side: 0 and 1.
type PoolState struct {
	Config       venue.Key
	Vaults       [2]venue.Key
	Mints        [2]venue.Key
	Programs     [2]venue.Key
	Observation  venue.Key
	Status       byte
	ProtocolFees [2]uint64
	FundFees     [2]uint64
	CreatorFees  [2]uint64
	// OpenTime is the Unix second from which swaps are allowed.
	OpenTime uint64
	// CreatorFeeOn is the token that pays the creator fee: 0 for the input of every swap, 1 for
	// token 0, 2 for token 1.
	CreatorFeeOn     byte
	EnableCreatorFee bool
}

// DecodePool reads a pool account.
func DecodePool(data []byte) (PoolState, error) {
	if len(data) < poolPrefix || [8]byte(data) != poolDiscriminator {
		return PoolState{}, fmt.Errorf("pool: %w: %d bytes", venue.ErrMalformed, len(data))
	}
	key := func(at int) venue.Key { return venue.Key(data[at : at+32]) }
	pair := func(at int) [2]uint64 {
		return [2]uint64{binary.LittleEndian.Uint64(data[at:]), binary.LittleEndian.Uint64(data[at+8:])}
	}
	p := PoolState{
		Config: key(poolConfig), Vaults: [2]venue.Key{key(poolVault0), key(poolVault1)}, Mints: [2]venue.Key{key(poolMint0), key(poolMint1)},
		Programs: [2]venue.Key{key(poolProgram0), key(poolProgram1)}, Observation: key(poolObservation), Status: data[poolStatus],
		ProtocolFees: pair(poolFees), FundFees: pair(poolFees + 16),
		CreatorFees: pair(poolCreatorFees), OpenTime: binary.LittleEndian.Uint64(data[poolOpenTime:]),
		CreatorFeeOn: data[poolCreatorOn], EnableCreatorFee: data[poolCreatorFee] != 0,
	}
	if p.CreatorFeeOn > 2 || p.Mints[0] == p.Mints[1] {
		return PoolState{}, fmt.Errorf("pool: %w", venue.ErrMalformed)
	}
	return p, nil
}

// Config is an AmmConfig account: fee rates in millionths. ProtocolRate and FundRate are parts of
// the trade fee.
type Config struct {
	TradeRate, ProtocolRate, FundRate, CreatorRate uint64
}

// DecodeConfig reads an AmmConfig account.
func DecodeConfig(data []byte) (Config, error) {
	if len(data) < configPrefix || [8]byte(data) != configDiscriminator {
		return Config{}, fmt.Errorf("amm config: %w: %d bytes", venue.ErrMalformed, len(data))
	}
	at := func(offset int) uint64 { return binary.LittleEndian.Uint64(data[offset:]) }
	return Config{at(configTradeRate), at(configProtocolRate), at(configFundRate), at(configCreatorRate)}, nil
}

// curve returns the curve of one direction. in is the side of the input. vaults are the amounts
// that the vaults hold.
func (p *PoolState) curve(config Config, vaults [2]uint64, in int) (Curve, error) {
	var reserves [2]uint64
	for side := range reserves {
		left := vaults[side]
		for _, owed := range []uint64{p.ProtocolFees[side], p.FundFees[side], p.CreatorFees[side]} {
			if owed > left {
				return Curve{}, fmt.Errorf("%w: a vault holds less than the fees owed from it", venue.ErrClosed)
			}
			left -= owed
		}
		reserves[side] = left
	}
	c := Curve{
		ReserveIn: reserves[in], ReserveOut: reserves[1-in], TradeRate: config.TradeRate,
		CreatorOnInput: p.CreatorFeeOn == 0 || int(p.CreatorFeeOn) == in+1,
	}
	if p.EnableCreatorFee {
		c.CreatorRate = config.CreatorRate
	}
	return c, nil
}

// afterSwap adds a swap's fees to what the pool owes (PoolState::update_fees). Protocol and fund
// get shares of the trade fee, rounded down.
func (p *PoolState) afterSwap(config Config, r Result, in int, creatorOnInput bool) {
	protocol, _ := arith.MulDiv(r.TradeFee, config.ProtocolRate, rateDenominator)
	fund, _ := arith.MulDiv(r.TradeFee, config.FundRate, rateDenominator)
	p.ProtocolFees[in] += protocol
	p.FundFees[in] += fund
	if creatorOnInput {
		p.CreatorFees[in] += r.CreatorFee
	} else {
		p.CreatorFees[1-in] += r.CreatorFee
	}
}
