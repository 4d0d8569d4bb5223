package main

import (
	"fmt"

	"github.com/mintlake/mintlake/internal/testkit/svmtest"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue/launchlab"
)

// launchPools are curves of LaunchLab with the usual amounts and fees, at a constant product and at
// a fixed price.
func launchPools() (list []*pool, err error) {
	for kind, form := range []string{", constant product", ", fixed price"} {
		p, err := launchPool(byte(kind))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", form[2:], err)
		}
		p.form = form
		list = append(list, p)
	}
	return list, nil
}

// launchPool is a curve that has sold an eighth of its coins. The layouts are those of
// raydium-cpi 62606b0.
func launchPool(kind byte) (*pool, error) {
	coin, config, site := swaptest.Named("coin"), swaptest.Named("config"), swaptest.Named("site")
	address, err := launchlab.Address(coin, mint.WrappedSOL)
	if err != nil {
		return nil, err
	}
	made := func(size int, discriminator []byte, numbers map[int]uint64, keys map[int]pubkey.Key) *solana.Account {
		data := make([]byte, size)
		copy(data, discriminator)
		svmtest.NumbersAt(data, numbers)
		putKeys(data, keys)
		return &solana.Account{Owner: launchlab.Program, Lamports: 1, Data: data}
	}
	curve := made(429, []byte{0xf7, 0xed, 0xe3, 0xf5, 0xd7, 0xc3, 0xde, 0x46}, map[int]uint64{
		29: 793_100_000_000_000, 37: 1_073_025_605_596_382, 45: 30_000_852_951, 53: 100_000_000_000_000, 61: 3_083_000_000, 69: 85_000_000_000,
	}, map[int]pubkey.Key{141: config, 173: site, 205: coin, 237: mint.WrappedSOL, 269: swaptest.Named("vault 0"), 301: swaptest.Named("vault 1")})
	terms := made(371, []byte{0x95, 0x08, 0x9c, 0xca, 0xa0, 0xfc, 0xb0, 0xd9}, map[int]uint64{27: 2500}, map[int]pubkey.Key{83: mint.WrappedSOL})
	terms.Data[16] = kind
	fees := made(944, []byte{0xa0, 0x4e, 0x80, 0x00, 0xf8, 0x53, 0xe6, 0xa0}, map[int]uint64{104: 10_000, 720: 500}, nil)
	return &pool{
		venue: launchlab.Venue{}, mints: [2]pubkey.Key{coin, mint.WrappedSOL},
		accounts: []account{{address, curve, true}, {config, terms, false}, {site, fees, false}},
	}, nil
}
