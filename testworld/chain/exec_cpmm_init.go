package chain

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/testworld/layout"
)

// sha256("global:initialize")
var cpmmInitialize = [8]byte{0xaf, 0xaf, 0x6d, 0x1f, 0x0d, 0x98, 0x9b, 0xed}

// cpmmLockedLP is the liquidity of a new pool that belongs to nobody (raydium-cp-swap,
// initialize.rs).
const cpmmLockedLP = 100

// The accounts of initialize, by position.
const (
	initCreator = iota
	initConfig
	initAuthority
	initPool
	initMint0
	initMint1
	initLP
	initCreator0
	initCreator1
	initCreatorLP
	initVault0
	initVault1
	initFee
	initObservation
	initTokenProgram
	initProgram0
	initProgram1
	initATAProgram
	initSystem
	initRent
	initAccounts
)

func (x *machine) signedBy(f *frame, i int) ref {
	return ref{idx: f.accs[i].idx, signer: true, writable: true}
}

// cpmmCreate runs initialize: first the accounts that Anchor creates (LP mint, creator's LP
// account, observation), then the calls of the handler in its order.
func cpmmCreate(x *machine, f *frame, amount0, amount1, open uint64) error {
	if err := f.need(initAccounts); err != nil {
		return failCustom(anchorNotEnoughKeys)
	}
	a := f.accs
	m0, m1 := x.key(a[initMint0]), x.key(a[initMint1])
	if string(m0[:]) >= string(m1[:]) {
		return failCustom(anchorConstraintRaw)
	}
	if !a[initCreator].signer {
		return failCustom(anchorNotSigner)
	}
	config := x.acc(a[initConfig])
	if config.Owner != CPMMProgram || len(config.Data) != layout.CPMMConfigSize {
		return failCustom(anchorWrongOwner)
	}
	if err := cpmmPoolAddresses(x, f); err != nil {
		return err
	}
	for i := range 2 {
		if !poolableMint(x.acc(a[initMint0+i]).Data) {
			return failCustom(cpmmNotSupportMint)
		}
	}
	if err := cpmmInits(x, f); err != nil {
		return err
	}
	if open <= uint64(x.now) {
		open = uint64(x.now) + 1
	}
	if err := cpmmVaults(x, f); err != nil {
		return err
	}
	if err := x.call(f, SystemProgram, []ref{x.signedBy(f, initCreator), x.signedBy(f, initPool)},
		createAccountData(RentExempt(layout.CPMMPoolSize), layout.CPMMPoolSize, CPMMProgram)); err != nil {
		return err
	}
	for i, amount := range []uint64{amount0, amount1} {
		if err := cpmmTransfer(x, f, a[initCreator0+i], a[initVault0+i], a[initCreator], a[initProgram0+i], a[initMint0+i], amount); err != nil {
			return err
		}
	}
	amount0, amount1 = layout.Amount(x.acc(a[initVault0]).Data), layout.Amount(x.acc(a[initVault1]).Data)
	return cpmmOpen(x, f, amount0, amount1, open, binary.LittleEndian.Uint64(config.Data[layout.ConfigCreateFee:]))
}

// cpmmPoolAddresses checks the derived addresses, as a submitted transaction may name any account.
// To save time it trusts a pool that the generator derived.
func cpmmPoolAddresses(x *machine, f *frame) error {
	a := f.accs
	config, m0, m1, pool := x.key(a[initConfig]), x.key(a[initMint0]), x.key(a[initMint1]), x.key(a[initPool])
	if k, ok := x.derived.pools[pool]; ok && k {
		return nil // the generator derived it
	}
	want := func(i int, seeds ...[]byte) bool {
		k, _ := pda(CPMMProgram, seeds...)
		return k == x.key(a[i])
	}
	if x.key(a[initAuthority]) != CPMMAuthority || x.key(a[initFee]) != cpmmCreatePoolFeeDest || x.key(a[initTokenProgram]) != TokenProgram {
		return failCustom(anchorConstraintAddress)
	}
	if !want(initPool, []byte("pool"), config[:], m0[:], m1[:]) || !want(initLP, []byte("pool_lp_mint"), pool[:]) ||
		!want(initObservation, []byte("observation"), pool[:]) || !want(initVault0, []byte("pool_vault"), pool[:], m0[:]) ||
		!want(initVault1, []byte("pool_vault"), pool[:], m1[:]) {
		return failCustom(anchorConstraintSeeds)
	}
	return nil
}

// cpmmInits creates the LP mint, the creator's account for it, and the observation account.
func cpmmInits(x *machine, f *frame) error {
	creator := x.signedBy(f, initCreator)
	lp := x.signedBy(f, initLP)
	if err := x.call(f, SystemProgram, []ref{creator, lp}, createAccountData(RentExempt(layout.MintSize), layout.MintSize, TokenProgram)); err != nil {
		return err
	}
	if err := x.call(f, TokenProgram, []ref{{idx: lp.idx, writable: true}}, layout.InitializeMint2(9, x.key(f.accs[initAuthority]), nil)); err != nil {
		return err
	}
	if err := x.call(f, AssociatedProgram, []ref{creator, {idx: f.accs[initCreatorLP].idx, writable: true}, {idx: creator.idx}, {idx: lp.idx},
		{idx: f.accs[initSystem].idx}, {idx: f.accs[initTokenProgram].idx}}, nil); err != nil {
		return err
	}
	if err := x.call(f, SystemProgram, []ref{creator, x.signedBy(f, initObservation)},
		createAccountData(RentExempt(layout.CPMMObservationSize), layout.CPMMObservationSize, CPMMProgram)); err != nil {
		return err
	}
	copy(x.mutable(f.accs[initObservation]).Data, layout.CPMMObservation(x.key(f.accs[initPool])))
	return nil
}

// cpmmVaults makes the vaults.
func cpmmVaults(x *machine, f *frame) error {
	for i := range 2 {
		mint := f.accs[initMint0+i]
		if err := x.makeVault(f, f.accs[initCreator], f.accs[initVault0+i], mint, x.key(f.accs[initProgram0+i]), x.key(f.accs[initAuthority])); err != nil {
			return err
		}
	}
	return nil
}

// makeVault makes a pool's token account. It has 165 bytes unless the mint withholds transfer fees.
func (x *machine) makeVault(f *frame, payer, vault, mint ref, program, owner Key) error {
	if err := x.makeAccount(f, payer, vault, accountSize(x.acc(mint).Data), program); err != nil {
		return err
	}
	return x.call(f, program, []ref{{idx: vault.idx, writable: true}, {idx: mint.idx}}, append([]byte{layout.TagInitializeAccount3}, owner[:]...))
}

// makeAccount makes an account of size bytes, which payer pays.
func (x *machine) makeAccount(f *frame, payer, made ref, size int, owner Key) error {
	accounts := []ref{{idx: payer.idx, signer: true, writable: true}, {idx: made.idx, signer: true, writable: true}}
	return x.call(f, SystemProgram, accounts, createAccountData(RentExempt(size), size, owner))
}

// cpmmOpen mints the liquidity, charges the fee for a pool and writes the pool's state.
func cpmmOpen(x *machine, f *frame, amount0, amount1, open, fee uint64) error {
	a := f.accs
	liquidity := isqrt(amount0, amount1)
	x.log("Program log: liquidity:" + utoa(liquidity) + ", lock_lp_amount:100, vault_0_amount:" + utoa(amount0) + ",vault_1_amount:" + utoa(amount1))
	if liquidity < cpmmLockedLP {
		return failCustom(cpmmInitLPTooLess)
	}
	authority := ref{idx: a[initAuthority].idx, signer: true}
	if err := x.call(f, TokenProgram, []ref{{idx: a[initLP].idx, writable: true}, {idx: a[initCreatorLP].idx, writable: true}, authority},
		layout.MintTo(liquidity-cpmmLockedLP)); err != nil {
		return err
	}
	if fee > 0 {
		dst := ref{idx: a[initFee].idx, writable: true}
		if err := x.call(f, SystemProgram, []ref{x.signedBy(f, initCreator), dst}, transferData(fee)); err != nil {
			return err
		}
		if err := x.call(f, TokenProgram, []ref{dst}, []byte{layout.TagSyncNative}); err != nil {
			return err
		}
	}
	k := func(i int) Key { return x.key(a[i]) }
	_, bump := pda(CPMMProgram, []byte(cpmmAuthoritySeed))
	pool := layout.CPMMPool{Config: k(initConfig), Creator: k(initCreator), Vaults: [2]Key{k(initVault0), k(initVault1)}, LP: k(initLP),
		Mints: [2]Key{k(initMint0), k(initMint1)}, Programs: [2]Key{k(initProgram0), k(initProgram1)}, Observation: k(initObservation),
		AuthorityBump: bump, LPDecimals: 9, Decimals: [2]byte{x.decimals(k(initMint0)), x.decimals(k(initMint1))},
		LPSupply: liquidity, OpenTime: open, RecentEpoch: x.epoch}
	copy(x.mutable(a[initPool]).Data, pool.Bytes())
	return nil
}
