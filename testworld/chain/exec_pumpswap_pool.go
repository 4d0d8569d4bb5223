package chain

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/testworld/layout"
)

// PumpSwap's instructions that make a pool and take liquidity out of it.
var (
	pumpCreate   = layout.Discriminator("global:create_pool")
	pumpWithdraw = layout.Discriminator("global:withdraw")
)

// pumpLockedLP is the liquidity of a new pool that belongs to nobody.
const pumpLockedLP = 100

func pumpPoolKey(index uint16, creator, base, quote Key) Key {
	k, _ := pda(PumpSwapProgram, []byte("pool"), binary.LittleEndian.AppendUint16(nil, index), creator[:], base[:], quote[:])
	return k
}

// pumpCreatePool runs create_pool (index, base amount, quote amount). Accounts: pool, global
// config, creator, base mint, quote mint, LP mint, creator's base, quote and LP accounts, both
// vaults, system, Token-2022, base program, quote program, associated program, event authority,
// program.
func pumpCreatePool(x *machine, f *frame) error {
	x.used += 60_000
	x.log("Program log: Instruction: CreatePool")
	if len(f.accs) < 18 || len(f.data) < 26 {
		return failCustom(anchorNotEnoughKeys)
	}
	a := f.accs
	creator, base, quote := x.key(a[2]), x.key(a[3]), x.key(a[4])
	key := pumpPoolKey(binary.LittleEndian.Uint16(f.data[8:]), creator, base, quote)
	lp, _ := pda(PumpSwapProgram, []byte("pool_lp_mint"), key[:])
	if !a[2].signer || x.key(a[0]) != key || x.key(a[5]) != lp || x.key(a[1]) != pumpGlobal || !x.holds(a[6], base) || !x.holds(a[7], quote) ||
		x.key(a[12]) != Token2022Program {
		return failCustom(anchorConstraintSeeds)
	}
	amounts := [2]uint64{binary.LittleEndian.Uint64(f.data[10:]), binary.LittleEndian.Uint64(f.data[18:])}
	liquidity := isqrt(amounts[0], amounts[1])
	if liquidity <= pumpLockedLP {
		return failCustom(pumpZero)
	}
	payer, pool := x.signedBy(f, 2), ref{idx: a[0].idx, signer: true, writable: true}
	if err := x.call(f, SystemProgram, []ref{payer, pool}, createAccountData(RentExempt(pumpPoolSize), pumpPoolSize, PumpSwapProgram)); err != nil {
		return err
	}
	if err := x.call(f, SystemProgram, []ref{payer, x.signedBy(f, 5)}, createAccountData(RentExempt(layout.MintSize), layout.MintSize, Token2022Program)); err != nil {
		return err
	}
	if err := x.call(f, Token2022Program, []ref{{idx: a[5].idx, writable: true}}, layout.InitializeMint2(9, key, nil)); err != nil {
		return err
	}
	for _, made := range []struct{ account, owner, mint, program int }{{8, 2, 5, 12}, {9, 0, 3, 13}, {10, 0, 4, 14}} {
		if err := x.call(f, AssociatedProgram, []ref{payer, {idx: a[made.account].idx, writable: true}, {idx: a[made.owner].idx}, {idx: a[made.mint].idx},
			{idx: a[11].idx}, {idx: a[made.program].idx}}, nil); err != nil {
			return err
		}
	}
	for side, amount := range amounts {
		if err := swapTransfer(x, f, x.key(a[13+side]), a[6+side], a[9+side], a[2], amount); err != nil {
			return err
		}
	}
	if err := x.call(f, Token2022Program, []ref{{idx: a[5].idx, writable: true}, {idx: a[8].idx, writable: true}, pool},
		layout.MintTo(liquidity-pumpLockedLP)); err != nil {
		return err
	}
	copy(x.mutable(a[0]).Data, pumpPoolData(creator, base, quote, lp, [2]Key{x.key(a[9]), x.key(a[10])}, liquidity))
	return nil
}

// pumpWithdrawAll runs withdraw (LP amount, least base, least quote). Accounts: pool, global
// config, user, base mint, quote mint, LP mint, user's base, quote and LP accounts, both vaults,
// token program, Token-2022, event authority, program.
func pumpWithdrawAll(x *machine, f *frame) error {
	x.log("Program log: Instruction: Withdraw")
	if len(f.accs) < 15 || len(f.data) < 32 {
		return failCustom(anchorNotEnoughKeys)
	}
	a := f.accs
	pool := x.acc(a[0])
	if pool.Owner != PumpSwapProgram || len(pool.Data) != pumpPoolSize {
		return failCustom(anchorWrongOwner)
	}
	if !a[2].signer || x.key(a[5]) != keyAt(pool.Data, pumpLPMint) || x.key(a[9]) != keyAt(pool.Data, pumpBaseVault) ||
		x.key(a[10]) != keyAt(pool.Data, pumpQuoteVault) || x.key(a[3]) != keyAt(pool.Data, pumpBaseMint) || x.key(a[4]) != keyAt(pool.Data, pumpQuoteMint) {
		return failCustom(anchorConstraintRaw)
	}
	amount, supply := binary.LittleEndian.Uint64(f.data[8:]), binary.LittleEndian.Uint64(pool.Data[pumpLPSupply:])
	if amount == 0 || amount > supply {
		return failCustom(pumpZero)
	}
	if err := x.call(f, Token2022Program, []ref{{idx: a[8].idx, writable: true}, {idx: a[5].idx, writable: true}, a[2]},
		layout.Burn(amount)); err != nil {
		return err
	}
	authority := ref{idx: a[0].idx, signer: true}
	for side := range 2 {
		out := mulDiv(layout.Amount(x.acc(a[9+side]).Data), amount, supply)
		if out < binary.LittleEndian.Uint64(f.data[16+8*side:]) {
			return failCustom(pumpExceeded)
		}
		if err := swapTransfer(x, f, x.acc(a[9+side]).Owner, a[9+side], a[6+side], authority, out); err != nil {
			return err
		}
	}
	binary.LittleEndian.PutUint64(x.mutable(a[0]).Data[pumpLPSupply:], supply-amount)
	return nil
}

// pumpCreateData is create_pool of index 0, without a creator of the coin.
func pumpCreateData(base, quote uint64) []byte {
	data := append(append([]byte(nil), pumpCreate[:]...), 0, 0)
	return append(layout.AppendU64(layout.AppendU64(data, base), quote), make([]byte, 32)...)
}

func ixPumpCreate(creator Key, p *pool, accounts [2]Key, lp Key, amounts [2]uint64) Instruction {
	base, quote := p.tokens[0], p.tokens[1]
	return Instruction{Program: PumpSwapProgram, Data: pumpCreateData(amounts[0], amounts[1]), Accounts: []AccountMeta{
		writable(p.key), readonly(pumpGlobal), signerW(creator), readonly(base.mint), readonly(quote.mint), writable(p.lp), writable(accounts[0]),
		writable(accounts[1]), writable(lp), writable(p.vaults[0]), writable(p.vaults[1]), readonly(SystemProgram), readonly(Token2022Program),
		readonly(base.program), readonly(quote.program), readonly(AssociatedProgram), readonly(pumpEvents), readonly(PumpSwapProgram)}}
}

func ixPumpWithdraw(user Key, p *pool, accounts [2]Key, lp Key, amount uint64) Instruction {
	data := layout.AppendU64(layout.AppendU64(layout.AppendU64(append([]byte(nil), pumpWithdraw[:]...), amount), 0), 0)
	return Instruction{Program: PumpSwapProgram, Data: data, Accounts: []AccountMeta{writable(p.key), readonly(pumpGlobal), signerW(user),
		readonly(p.tokens[0].mint), readonly(p.tokens[1].mint), writable(p.lp), writable(accounts[0]), writable(accounts[1]), writable(lp),
		writable(p.vaults[0]), writable(p.vaults[1]), readonly(TokenProgram), readonly(Token2022Program), readonly(pumpEvents), readonly(PumpSwapProgram)}}
}
