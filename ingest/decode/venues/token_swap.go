package venues

import "github.com/mintlake/mintlake/ingest/decode/swap"

// tokenSwap reads Saros and other pools whose programs are derived from SPL's token-swap.
//
// Layouts: solana-program/token-swap program/src/instruction.rs: swap account, authority, user,
// source, vaults in and out, destination. Amounts: transfers into and out of the vaults; checked by
// balances. The programs emit no events.
func tokenSwap() []swap.Venue {
	return []swap.Venue{
		tokenSwapVenue("saros_amm", "SSwapUtytfBdBn1b9NUGG6foMVPtcWgpRU32HToDUZr"),
		tokenSwapVenue("orca_token_swap_v1", "DjVE6JNiYqPL2QXyCUUh8rNjHrbz9hXHNYt99MQ59qw1"),
		tokenSwapVenue("orca_token_swap_v2", "9W959DqEETiGZocYWCQPaJ6sBmUzgfxXfqGeTEdp3aQP"),
	}
}

func tokenSwapVenue(name, program string) swap.Venue {
	const length = 1 + 2*8 // tag, amount in, least amount out
	const three = 1 + 3*8  // tag, and three numbers: liquidity tokens, two limits
	return swap.Venue{
		Name: name, Program: program,
		Instructions: []swap.Instruction{
			{Name: "swap", Tag: swap.Tag("01"), MinAccounts: 10, DataLength: length, Shapes: []swap.Shape{
				{Pool: 0, VaultA: 4, VaultB: 5, Owner: 2, MintA: swap.None, MintB: swap.None},
			}},
			tokenSwapLiquidity("deposit_all_token_types", "02", swap.Add, 9, three, 7, 5),
			tokenSwapLiquidity("withdraw_all_token_types", "03", swap.Remove, 9, three, 3, 5),
			tokenSwapLiquidity("deposit_single_token_type_exact_amount_in", "04", swap.Add, 8, length, 6, 4),
			tokenSwapLiquidity("withdraw_single_token_type_exact_amount_out", "05", swap.Remove, 8, length, 3, 5),
		},
	}
}

// tokenSwapLiquidity returns an instruction that adds or removes liquidity. accounts is the least
// number of accounts, and length the length of the data. lpMint is the place of the mint of the
// liquidity tokens, and vault that of the first of two vaults.
func tokenSwapLiquidity(name, tag string, kind swap.Kind, accounts, length, lpMint, vault int) swap.Instruction {
	return swap.Instruction{
		Name: name, Kind: kind, Tag: swap.Tag(tag), MinAccounts: accounts, DataLength: length, LPMint: lpMint,
		Shapes: []swap.Shape{{Pool: 0, VaultA: vault, VaultB: vault + 1, Owner: 2, MintA: swap.None, MintB: swap.None}},
	}
}
