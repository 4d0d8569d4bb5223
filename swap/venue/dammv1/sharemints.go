package dammv1

import (
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

// olderShareMints has the share mints of the first vaults by vault. These mints are no derived
// addresses (damm-v1-sdk@02c66a3 common/src/dynamic_vault/aux_lp_mint.rs).
var olderShareMints = func() map[venue.Key]venue.Key {
	mints := map[venue.Key]venue.Key{}
	for _, one := range []struct{ token, vault, mint string }{
		{"acUSD", "BFJP6RYDxJa4FmFtBpPDYcrPozjC98CELrXqVL7rGMVW", "5CuhvouXVx6t5XPiyhRkrfgK5omAf8XnqY1ef6CLjw7o"},
		{"USH", "AzrUPWWyT9ZoAuMTgGHxYCnnWD2veh98FsCcMknVjg3Q", "9MSsSzDKq8VzokicRom6ciYPLhhZf65bCCBQLjnC7jUH"},
		{"afUSDC", "GGQfASSnFaqPu83jWrL1DMJBJEzG3rdwsDARDGt6Gxmj", "4da9saTYgDs37wRSuS8mnFoiWzSYeRtvSWaFRe8rtkFc"},
		{"USDC of Wormhole", "GofttAxULhp5NE9faWNngsnDM1iJiL75AJ2AkSaaC2CC", "Bma9RZx1AjNGcojNJpstGe9Wcytxz17YA6rd2Lq1UirT"},
		{"PAI", "671JaLe2zDgBeXK3UtFHBiid7WFCHAKZTmLqAaQxx7cL", "9NywobBSCyntrPSZxEZpUbJXLfgUzKbUF2ZqBBkJLEgB"},
		{"UXD", "2dH3aSpt5aEwhoeSaThKRNtNppEpg2DhGKGa1C5Wecc1", "Afe5fiLmbKw7aBi1VgWZb9hEY8nRYtib6LNr5RGUJibP"},
		{"WAVAX", "BVJACEffKRHvKbQT9VfEqoxrUWJN2UVdonTKYB2c4MgK", "FFmYsMk5xQq3zQf1r4A6Yyf3kaKd3LUQokeVa776rKWH"},
		{"USDT", "5XCP3oD3JAuQyDpfBFFVUxsBxNjPQojpKuL4aVhHsDok", "EZun6G5514FeqYtUv26cBHWLqXjAEdjGuoX6ThBpBtKj"},
		{"WBTC", "mPWBpKzzchEjitz7x4Q2d7cbQ3fHibF2BHWbWk8YGnH", "4nCGSVN8ZGuewX36TznzisceaNYzURWPesxyGtDvA2iP"},
		{"mSOL", "8p1VKP45hhqq5iZG5fNGoi7ucme8nFLeChoDWNy7rWFm", "21bR3D4QR4GzopVco44PVMBXwHFpSYrbrdeNwdKk7umb"},
		{"stSOL", "CGY4XQq8U4VAJpbkaFPHZeXpW3o4KQ5LowVsn6hnMwKe", "28KR3goEditLnzBZShRk2H7xvgzc176EoFwMogjdfSkn"},
		{"SOL", "FERjPVNEa7Udq8CEv68h6tPL46Tq7ieE49HrE2wea3XT", "FZN7QZ8ZUUAxMPfxYEYkH3cXUASzH8EqA6B4tyCL8f1j"},
		{"USDC", "3ESUFCnRNgZ7Mn2mPPUMmXYaKU8jpnV9VtA17M7t2mHQ", "3RpEekjLE5cdcG15YcXJUpxSepemvq2FpmMcgo342BwC"},
	} {
		mints[pubkey.MustParse(one.vault)] = pubkey.MustParse(one.mint)
	}
	return mints
}()
