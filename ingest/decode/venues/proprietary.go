package venues

import "github.com/mintlake/mintlake/ingest/decode/swap"

// proprietary reads the pools of market makers: closed programs without published layouts, which
// make up half of the volume.
//
// Layouts: seen in mainnet transactions, see docs/swaps.md. Amounts: transfers into and out of the
// accounts in the places of the vaults; checked by balances. The programs emit no events. An
// instruction that moves nothing, such as a price update, gives no leg. Neither does an instruction
// of an unknown form.
func proprietary() []swap.Venue {
	return []swap.Venue{
		proprietaryVenue("solfi", "SoLFiHG9TfgtdUXUjWAxi3LtvYuFyDLVhBWxdMZxyCe", proprietaryForm("07", 8, proprietaryPlaces(1, 2, 3, 0))),
		proprietaryVenue("solfi_v2", "SV2EYYJyRz2YhfXwXnhNAevDEui5Q6yrfyo13WtupPF", proprietaryForm("07", 13, proprietaryPlaces(1, 4, 5, 0))),
		// The data is scrambled, so there is no tag: any data matches.
		proprietaryVenue("humidifi", "9H6tua7jkLhdm3w8BvgpTn5LZNU7g4ZynDmCiNN3q6Rp", proprietaryForm("", 9, proprietaryPlaces(1, 2, 3, 0))),
		proprietaryVenue("zerofi", "ZERor4xhbUycZ6gb9ntrhqscUcZmAbQDjEAtCf4hbZY", proprietaryForm("06", 10, proprietaryPlaces(0, 2, 4, 7))),
		proprietaryVenue("goonfi_v2", "goonuddtQRrWqqn5nFyczVKaie28f3kDkHWkHtURSLE", proprietaryForm("01", 13, proprietaryPlaces(1, 4, 5, 0))),
		proprietaryVenue("tessera", "TessVdML9pBGgG9yGks7o4HewRaXVAMuoVj4x83GLQH", proprietaryForm("10", 12, proprietaryPlaces(1, 3, 4, 2))),
		proprietaryVenue("alphaq", "ALPHAQmeA7bjrVuccPsYPiCvsi428SNwte66Srvs4pHA", proprietaryForm("0c", 12, proprietaryPlaces(1, 5, 6, 0))),
		proprietaryVenue("bisonfi", "BiSoNHVpsVZW2F7rx2eQ59yQwKxzU5NvBcmKshCSUypi", proprietaryForm("02", 9, proprietaryPlaces(1, 2, 3, 0)), proprietaryForm("07", 9, proprietaryPlaces(1, 2, 3, 0))),
		proprietaryVenue("obric_v2", "obriQD1zbpyLz95G5n7nJe6a4DPjpFwa5XYPoNm113y", swap.Anchor("swap", 12, proprietaryPlaces(0, 3, 4, 10))),
		proprietaryVenue("scorch", "SCoRcH8c2dpjvcJD6FiPbCSQyQgu3PcUAWj2Xxx3mqn", proprietaryForm("02", 10, proprietaryPlaces(0, 4, 5, 1))),
	}
}

func proprietaryVenue(name, program string, forms ...swap.Instruction) swap.Venue {
	return swap.Venue{Name: name, Program: program, Instructions: forms}
}

func proprietaryForm(tag string, accounts int, shape swap.Shape) swap.Instruction {
	return swap.Instruction{Name: "swap", Tag: swap.Tag(tag), MinAccounts: accounts, Shapes: []swap.Shape{shape}}
}

func proprietaryPlaces(pool, vaultA, vaultB, owner int) swap.Shape {
	return swap.Shape{Pool: pool, VaultA: vaultA, VaultB: vaultB, Owner: owner, MintA: swap.None, MintB: swap.None}
}
