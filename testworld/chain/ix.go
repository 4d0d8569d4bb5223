package chain

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/testworld/layout"
)

func signerW(k Key) AccountMeta  { return AccountMeta{Key: k, Signer: true, Writable: true} }
func signer(k Key) AccountMeta   { return AccountMeta{Key: k, Signer: true} }
func writable(k Key) AccountMeta { return AccountMeta{Key: k, Writable: true} }
func readonly(k Key) AccountMeta { return AccountMeta{Key: k} }

func createAccountData(lamports uint64, size int, owner Key) []byte {
	b := layout.AppendU64(layout.AppendU64([]byte{sysCreateAccount, 0, 0, 0}, lamports), uint64(size))
	return append(b, owner[:]...)
}

func transferData(lamports uint64) []byte {
	return layout.AppendU64([]byte{sysTransfer, 0, 0, 0}, lamports)
}

// CreateAccount makes an account of size bytes, paid by from. to signs, too.
func CreateAccount(from, to Key, lamports uint64, size int, owner Key) Instruction {
	return Instruction{Program: SystemProgram, Accounts: []AccountMeta{signerW(from), signerW(to)}, Data: createAccountData(lamports, size, owner)}
}

func ixTransferSOL(from, to Key, lamports uint64) Instruction {
	return Instruction{Program: SystemProgram, Accounts: []AccountMeta{signerW(from), writable(to)}, Data: transferData(lamports)}
}

func ixComputeLimit(units uint32) Instruction {
	return Instruction{Program: ComputeBudgetProgram, Data: binary.LittleEndian.AppendUint32([]byte{2}, units)}
}

func ixComputePrice(microLamports uint64) Instruction {
	return Instruction{Program: ComputeBudgetProgram, Data: layout.AppendU64([]byte{3}, microLamports)}
}

func ixMemo(text string) Instruction { return Instruction{Program: MemoProgram, Data: []byte(text)} }

// InitializeMint makes an account a mint of either token program. freeze may be nil.
func InitializeMint(program, mint Key, decimals uint8, authority Key, freeze *Key) Instruction {
	return Instruction{Program: program, Accounts: []AccountMeta{writable(mint)}, Data: layout.InitializeMint2(decimals, authority, freeze)}
}

func ixCreateATA(payer, ata, owner, mint, program Key, idempotent bool) Instruction {
	var data []byte
	if idempotent {
		data = []byte{1}
	}
	return Instruction{Program: AssociatedProgram, Data: data, Accounts: []AccountMeta{signerW(payer), writable(ata), readonly(owner),
		readonly(mint), readonly(SystemProgram), readonly(program)}}
}

func ixMintTo(program, mint, dst, authority Key, amount uint64) Instruction {
	return Instruction{Program: program, Accounts: []AccountMeta{writable(mint), writable(dst), signer(authority)}, Data: layout.MintTo(amount)}
}

func ixMintToChecked(program, mint, dst, authority Key, amount uint64, decimals uint8) Instruction {
	return Instruction{Program: program, Accounts: []AccountMeta{writable(mint), writable(dst), signer(authority)},
		Data: layout.MintToChecked(amount, decimals)}
}

func ixBurn(program, src, mint, owner Key, amount uint64) Instruction {
	return Instruction{Program: program, Accounts: []AccountMeta{writable(src), writable(mint), signer(owner)}, Data: layout.Burn(amount)}
}

func ixBurnChecked(program, src, mint, owner Key, amount uint64, decimals uint8) Instruction {
	return Instruction{Program: program, Accounts: []AccountMeta{writable(src), writable(mint), signer(owner)},
		Data: layout.BurnChecked(amount, decimals)}
}

func ixTransferChecked(program, src, mint, dst, owner Key, amount uint64, decimals uint8) Instruction {
	return Instruction{Program: program, Accounts: []AccountMeta{writable(src), readonly(mint), writable(dst), signer(owner)},
		Data: layout.TransferChecked(amount, decimals)}
}

func ixTransfer(program, src, dst, owner Key, amount uint64) Instruction {
	return Instruction{Program: program, Accounts: []AccountMeta{writable(src), writable(dst), signer(owner)}, Data: layout.Transfer(amount)}
}

func ixSetAuthority(program, account, authority Key, kind byte, next *Key) Instruction {
	return Instruction{Program: program, Accounts: []AccountMeta{writable(account), signer(authority)}, Data: layout.SetAuthority(kind, next)}
}

func ixFreeze(program, account, mint, authority Key, freeze bool) Instruction {
	tag := byte(layout.TagThawAccount)
	if freeze {
		tag = layout.TagFreezeAccount
	}
	return Instruction{Program: program, Accounts: []AccountMeta{writable(account), readonly(mint), signer(authority)}, Data: []byte{tag}}
}

func ixSyncNative(account Key) Instruction {
	return Instruction{Program: TokenProgram, Accounts: []AccountMeta{writable(account)}, Data: []byte{layout.TagSyncNative}}
}

func ixCloseAccount(program, account, dst, owner Key) Instruction {
	return Instruction{Program: program, Accounts: []AccountMeta{writable(account), writable(dst), signer(owner)}, Data: []byte{layout.TagCloseAccount}}
}

// ixBatch joins token instructions into one p-token Batch.
func ixBatch(ixs ...Instruction) Instruction {
	out := Instruction{Program: TokenProgram, Data: []byte{layout.TagBatch}}
	for _, ix := range ixs {
		out.Data = append(out.Data, byte(len(ix.Accounts)), byte(len(ix.Data)))
		out.Data = append(out.Data, ix.Data...)
		out.Accounts = append(out.Accounts, ix.Accounts...)
	}
	return out
}

// InitializePointer sets the MetadataPointer extension of a mint, before it is initialized.
func InitializePointer(mint, authority, metadata Key) Instruction {
	data := append([]byte{layout.TagMetadataPointer, layout.PointerTagInitialize}, layout.MetadataPointer(authority, metadata)...)
	return Instruction{Program: Token2022Program, Accounts: []AccountMeta{writable(mint)}, Data: data}
}

// InitializeMetadata sets the TokenMetadata extension of a mint.
func InitializeMetadata(mint, updateAuthority, mintAuthority Key, name, symbol, uri string) Instruction {
	data := layout.AppendString(layout.AppendString(layout.AppendString(append([]byte(nil), tmInitialize[:]...), name), symbol), uri)
	return Instruction{Program: Token2022Program, Data: data,
		Accounts: []AccountMeta{writable(mint), readonly(updateAuthority), readonly(mint), signer(mintAuthority)}}
}

// UpdateField sets a field of the TokenMetadata extension. key is used with FieldKey only.
func UpdateField(mint, authority Key, field byte, key, value string) Instruction {
	data := append(append([]byte(nil), tmUpdateField[:]...), field)
	if field == FieldKey {
		data = layout.AppendString(data, key)
	}
	return Instruction{Program: Token2022Program, Accounts: []AccountMeta{writable(mint), signer(authority)}, Data: layout.AppendString(data, value)}
}

// CreateMetaplex makes the Metaplex account of a mint. payer and mintAuthority sign.
func CreateMetaplex(metadata, mint, mintAuthority, payer, updateAuthority Key, d layout.MetaplexData, mutable bool) Instruction {
	data := d.Append([]byte{mplCreateV3})
	m := byte(0)
	if mutable {
		m = 1
	}
	return Instruction{Program: MetaplexProgram, Data: append(data, m, 0), Accounts: []AccountMeta{writable(metadata), readonly(mint),
		signer(mintAuthority), signerW(payer), readonly(updateAuthority), readonly(SystemProgram)}}
}

// UpdateMetaplex sets the data to d and the update authority to next (nil: unchanged). authority
// signs. frozen makes the metadata immutable.
func UpdateMetaplex(metadata, authority Key, d *layout.MetaplexData, next *Key, frozen bool) Instruction {
	data := []byte{mplUpdateV2, 0}
	if d != nil {
		data = d.Append([]byte{mplUpdateV2, 1})
	}
	if next != nil {
		data = append(append(data, 1), next[:]...)
	} else {
		data = append(data, 0)
	}
	data = append(data, 0)
	if frozen {
		data = append(data, 1, 0)
	} else {
		data = append(data, 0)
	}
	return Instruction{Program: MetaplexProgram, Accounts: []AccountMeta{writable(metadata), signer(authority)}, Data: data}
}

// ixLaunch is create of an SPL token, or create_v2 of one of Token-2022.
func ixLaunch(t *token, creator Key) Instruction {
	curve := launchCurve(t.mint)
	accounts := []AccountMeta{signerW(t.mint), readonly(launchAuthority), writable(curve), writable(AssociatedAddress(curve, t.mint, t.program)), readonly(launchGlobal)}
	tag := launchCreate
	if t.program == Token2022Program {
		tag = launchCreateV2
		accounts = append(accounts, signerW(creator), readonly(SystemProgram), readonly(t.program), readonly(AssociatedProgram))
		for range 5 { // the accounts of a mode that tokens need not have
			accounts = append(accounts, readonly(launchMayhem))
		}
	} else {
		accounts = append(accounts, readonly(MetaplexProgram), writable(t.metadata), signerW(creator), readonly(SystemProgram), readonly(t.program),
			readonly(AssociatedProgram), readonly(RentSysvar))
	}
	data := layout.AppendString(layout.AppendString(layout.AppendString(append([]byte(nil), tag[:]...), t.name), t.symbol), t.uri)
	return Instruction{Program: LauncherProgram, Data: append(data, creator[:]...), Accounts: append(accounts, readonly(launchEvents), readonly(LauncherProgram))}
}

// ixSwap is swap_base_input (first is the amount in, second the least out) with base, and
// swap_base_output (the most in, the amount out) without.
func ixSwap(user Key, p *pool, zeroForOne bool, inAccount, outAccount Key, first, second uint64, base bool) Instruction {
	in, out := 0, 1
	if !zeroForOne {
		in, out = 1, 0
	}
	return Instruction{Program: CPMMProgram, Data: layout.CPMMSwap(!base, first, second), Accounts: []AccountMeta{signer(user), readonly(CPMMAuthority), readonly(p.config),
		writable(p.key), writable(inAccount), writable(outAccount), writable(p.vaults[in]), writable(p.vaults[out]),
		readonly(p.tokens[in].program), readonly(p.tokens[out].program), readonly(p.tokens[in].mint), readonly(p.tokens[out].mint),
		writable(p.observation)}}
}

func ixCreatePool(creator Key, p *pool, accounts [2]Key, creatorLP Key, amounts [2]uint64) Instruction {
	data := layout.AppendU64(layout.AppendU64(layout.AppendU64(append([]byte(nil), cpmmInitialize[:]...), amounts[0]), amounts[1]), 0)
	return Instruction{Program: CPMMProgram, Data: data, Accounts: []AccountMeta{signerW(creator), readonly(p.config), readonly(CPMMAuthority),
		writable(p.key), readonly(p.tokens[0].mint), readonly(p.tokens[1].mint), writable(p.lp), writable(accounts[0]), writable(accounts[1]),
		writable(creatorLP), writable(p.vaults[0]), writable(p.vaults[1]), writable(cpmmCreatePoolFeeDest), writable(p.observation),
		readonly(TokenProgram), readonly(p.tokens[0].program), readonly(p.tokens[1].program), readonly(AssociatedProgram),
		readonly(SystemProgram), readonly(RentSysvar)}}
}

func ixFeeConfig(mint, authority Key, bps uint16, maximum uint64) Instruction {
	data := append(append([]byte{layout.TagTransferFee, layout.FeeTagInitialize, 1}, authority[:]...), 1)
	data = append(data, authority[:]...)
	return Instruction{Program: Token2022Program, Accounts: []AccountMeta{writable(mint)},
		Data: layout.AppendU64(binary.LittleEndian.AppendUint16(data, bps), maximum)}
}

func ixMintClose(mint, authority Key) Instruction {
	return Instruction{Program: Token2022Program, Accounts: []AccountMeta{writable(mint)}, Data: append([]byte{layout.TagMintCloseAuthority, 1}, authority[:]...)}
}

func ixTransferWithFee(src, mint, dst, owner Key, amount uint64, decimals uint8, fee uint64) Instruction {
	return Instruction{Program: Token2022Program, Accounts: []AccountMeta{writable(src), readonly(mint), writable(dst), signer(owner)},
		Data: layout.AppendU64(append(layout.AppendU64([]byte{layout.TagTransferFee, layout.FeeTagTransfer}, amount), decimals), fee)}
}

func ixHarvest(mint Key, sources []Key) Instruction {
	ix := Instruction{Program: Token2022Program, Accounts: []AccountMeta{writable(mint)}, Data: []byte{layout.TagTransferFee, layout.FeeTagHarvest}}
	for _, k := range sources {
		ix.Accounts = append(ix.Accounts, writable(k))
	}
	return ix
}

func ixWithdrawFees(mint, dst, authority Key) Instruction {
	return Instruction{Program: Token2022Program, Accounts: []AccountMeta{writable(mint), writable(dst), signer(authority)}, Data: []byte{layout.TagTransferFee, layout.FeeTagWithdraw}}
}

// ixInitMintOld is InitializeMint of the first token program, which names the rent sysvar.
func ixInitMintOld(mint Key, decimals uint8, authority Key, freeze *Key) Instruction {
	data := layout.InitializeMint2(decimals, authority, freeze)
	data[0] = layout.TagInitializeMint
	return Instruction{Program: TokenProgram, Accounts: []AccountMeta{writable(mint), readonly(RentSysvar)}, Data: data}
}

func ixWithdrawExcess(program, source, dst, authority Key) Instruction {
	return Instruction{Program: program, Accounts: []AccountMeta{writable(source), writable(dst), signer(authority)}, Data: []byte{layout.TagWithdrawExcess}}
}

// ixUnwrap pays out an amount of wrapped SOL, or all of it for nil.
func ixUnwrap(source, dst, owner Key, amount *uint64) Instruction {
	data := []byte{layout.TagUnwrap, 0}
	if amount != nil {
		data = layout.AppendU64([]byte{layout.TagUnwrap, 1}, *amount)
	}
	return Instruction{Program: TokenProgram, Accounts: []AccountMeta{writable(source), writable(dst), signer(owner)}, Data: data}
}

func ixApprove(program, source, delegate, owner Key, amount uint64) Instruction {
	return Instruction{Program: program, Accounts: []AccountMeta{writable(source), readonly(delegate), signer(owner)}, Data: layout.AppendU64([]byte{layout.TagApprove}, amount)}
}

func ixRevoke(program, source, owner Key) Instruction {
	return Instruction{Program: program, Accounts: []AccountMeta{writable(source), signer(owner)}, Data: []byte{layout.TagRevoke}}
}
