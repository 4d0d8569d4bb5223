package launchlab

import (
	"encoding/binary"
	"fmt"

	"github.com/mintlake/mintlake/swap/venue"
)

// Layouts (raydium-cpi 62606b0, launch-cpi/src/states.rs; packed, after Anchor's discriminator).
const (
	// poolSize is the length of a PoolState.
	poolSize = 429

	poolStatus       = 17
	poolTotalSell    = 29
	poolVirtualBase  = 37
	poolVirtualQuote = 45
	poolRealBase     = 53
	poolRealQuote    = 61
	poolConfig       = 141
	poolPlatform     = 173
	poolMints        = 205
	poolVaults       = 269
	poolCreator      = 333
	poolPrograms     = 365

	// configPrefix is how much of a GlobalConfig is read.
	configPrefix = 115

	configCurve     = 16
	configTradeRate = 27
	configQuoteMint = 83

	// platformPrefix is how much of a PlatformConfig is read.
	platformPrefix = 728

	platformRate        = 104
	platformCreatorRate = 720
)

// base and quote are the sides of a pool: the coin, and the token in which it is quoted.
const base, quote = 0, 1

var (
	poolDiscriminator     = [8]byte{0xf7, 0xed, 0xe3, 0xf5, 0xd7, 0xc3, 0xde, 0x46}
	configDiscriminator   = [8]byte{0x95, 0x08, 0x9c, 0xca, 0xa0, 0xfc, 0xb0, 0xd9}
	platformDiscriminator = [8]byte{0xa0, 0x4e, 0x80, 0x00, 0xf8, 0x53, 0xe6, 0xa0}
)

// state is a PoolState.
type state struct {
	status           byte
	config, platform venue.Key
	mints, vaults    [2]venue.Key
	creator          venue.Key
	// programs has a bit for each side, which says that the mint is of Token-2022.
	programs byte
	// totalSell is how much of the coin the curve sells in all.
	totalSell uint64
	curve
}

func decodeState(data []byte) (state, error) {
	if len(data) < poolSize || [8]byte(data) != poolDiscriminator {
		return state{}, fmt.Errorf("%w: a curve of %d bytes", venue.ErrMalformed, len(data))
	}
	key := func(at int) venue.Key { return venue.Key(data[at : at+32]) }
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
	s := state{
		status: data[poolStatus], config: key(poolConfig), platform: key(poolPlatform), creator: key(poolCreator), programs: data[poolPrograms],
		mints: [2]venue.Key{key(poolMints), key(poolMints + 32)}, vaults: [2]venue.Key{key(poolVaults), key(poolVaults + 32)}, totalSell: number(poolTotalSell),
		curve: curve{virtualBase: number(poolVirtualBase), virtualQuote: number(poolVirtualQuote), realBase: number(poolRealBase), realQuote: number(poolRealQuote)},
	}
	if s.mints[base] == s.mints[quote] || s.realBase > s.totalSell {
		return state{}, fmt.Errorf("%w: a coin quoted in itself, or more sold than there is", venue.ErrMalformed)
	}
	return s, nil
}

// config is a GlobalConfig.
type config struct {
	// kind is one of the kinds of curves.
	kind byte
	// tradeRate is the program's fee rate, in millionths.
	tradeRate uint64
	quoteMint venue.Key
}

func decodeConfig(data []byte) (*config, error) {
	if len(data) < configPrefix || [8]byte(data) != configDiscriminator {
		return nil, fmt.Errorf("%w: a config of %d bytes", venue.ErrMalformed, len(data))
	}
	return &config{data[configCurve], binary.LittleEndian.Uint64(data[configTradeRate:]), venue.Key(data[configQuoteMint : configQuoteMint+32])}, nil
}

// platform is a PlatformConfig: the terms of a site that launches coins. rate is the site's fee
// rate, creatorRate that of a coin's creator, both in millionths.
type platform struct{ rate, creatorRate uint64 }

func decodePlatform(data []byte) (*platform, error) {
	if len(data) < platformPrefix || [8]byte(data) != platformDiscriminator {
		return nil, fmt.Errorf("%w: a platform of %d bytes", venue.ErrMalformed, len(data))
	}
	return &platform{binary.LittleEndian.Uint64(data[platformRate:]), binary.LittleEndian.Uint64(data[platformCreatorRate:])}, nil
}
