// Package proprietary reads the market makers' own pools: closed programs without published
// layouts, which make up half of the volume.
//
// Layouts: seen in mainnet transactions, see docs/swaps.md. Amounts: transfers into and out of the
// accounts that stand where the vaults stood; checked by balances. The programs tell no events. An
// instruction that moves nothing, as their price updates, makes no leg; one of a form that was
// never seen makes none either.
package proprietary

import "github.com/mintlake/mintlake/ingest/decode/swap"

// Venues are the programs' tables.
func Venues() []swap.Venue {
	return []swap.Venue{
		venue("solfi", "SoLFiHG9TfgtdUXUjWAxi3LtvYuFyDLVhBWxdMZxyCe", form("07", 8, places(1, 2, 3, 0))),
		venue("solfi_v2", "SV2EYYJyRz2YhfXwXnhNAevDEui5Q6yrfyo13WtupPF", form("07", 13, places(1, 4, 5, 0))),
		// its data is scrambled
		venue("humidifi", "9H6tua7jkLhdm3w8BvgpTn5LZNU7g4ZynDmCiNN3q6Rp", form("", 9, places(1, 2, 3, 0))),
		venue("zerofi", "ZERor4xhbUycZ6gb9ntrhqscUcZmAbQDjEAtCf4hbZY", form("06", 10, places(0, 2, 4, 7))),
		venue("goonfi_v2", "goonuddtQRrWqqn5nFyczVKaie28f3kDkHWkHtURSLE", form("01", 13, places(1, 4, 5, 0))),
		venue("tessera", "TessVdML9pBGgG9yGks7o4HewRaXVAMuoVj4x83GLQH", form("10", 12, places(1, 3, 4, 2))),
		venue("alphaq", "ALPHAQmeA7bjrVuccPsYPiCvsi428SNwte66Srvs4pHA", form("0c", 12, places(1, 5, 6, 0))),
		venue("bisonfi", "BiSoNHVpsVZW2F7rx2eQ59yQwKxzU5NvBcmKshCSUypi", form("02", 9, places(1, 2, 3, 0)), form("07", 9, places(1, 2, 3, 0))),
		venue("obric_v2", "obriQD1zbpyLz95G5n7nJe6a4DPjpFwa5XYPoNm113y", swap.Anchor("swap", 12, places(0, 3, 4, 10))),
		venue("scorch", "SCoRcH8c2dpjvcJD6FiPbCSQyQgu3PcUAWj2Xxx3mqn", form("02", 10, places(0, 4, 5, 1))),
	}
}

func venue(name, program string, forms ...swap.Instruction) swap.Venue {
	return swap.Venue{Name: name, Program: program, Instructions: forms}
}

func form(tag string, accounts int, shape swap.Shape) swap.Instruction {
	return swap.Instruction{Name: "swap", Tag: swap.Tag(tag), MinAccounts: accounts, Shapes: []swap.Shape{shape}}
}

func places(pool, vaultA, vaultB, owner int) swap.Shape {
	return swap.Shape{Pool: pool, VaultA: vaultA, VaultB: vaultB, Owner: owner, MintA: swap.None, MintB: swap.None}
}
