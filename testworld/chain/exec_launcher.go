package chain

import "github.com/mintlake/mintlake/testworld/layout"

// The launchpad's instructions and event, made as Anchor makes them, and the prefix of Anchor's
// self-CPI events. It is pump.fun as far as tokens see it: create makes an SPL mint, create_v2 one
// of Token-2022, and migrate takes a token to a pool. Nobody trades on its curve.
var (
	launchCreate      = layout.Discriminator("global:create")
	launchCreateV2    = layout.Discriminator("global:create_v2")
	launchMigrate     = layout.Discriminator("global:migrate")
	launchCreateEvent = layout.Discriminator("event:CreateEvent")
	anchorEventPrefix = [8]byte{0xe4, 0x45, 0xa5, 0x2e, 0x51, 0xcb, 0x9a, 0x1d}
	// launchAuthority is the mint authority while a launch runs.
	launchAuthority, _ = pda(LauncherProgram, []byte("mint-authority"))
	launchEvents, _    = pda(LauncherProgram, []byte("__event_authority"))
	launchGlobal, _    = pda(LauncherProgram, []byte("global"))
	launchMayhem, _    = pda(LauncherProgram, []byte("mayhem"))
)

// launchSupply and launchDecimals are those of every launched token: a billion tokens of six
// decimals.
const (
	launchSupply   = 1_000_000_000_000_000
	launchDecimals = 6
)

func launchCurve(mint Key) Key {
	k, _ := pda(LauncherProgram, []byte("bonding-curve"), mint[:])
	return k
}

// launchAccounts says where create and create_v2 have what a launch needs: mint (signer), mint
// authority (its PDA), curve, curve's token account, creator (signer), system program, token
// program, associated token program, metadata, metadata program, event authority, program
// (pump-fun/pump-public-docs idl/pump.json). create_v2 has no metadata accounts.
var launchAccounts = map[[8]byte][12]int{
	launchCreate:   {0, 1, 2, 3, 7, 8, 9, 10, 6, 5, 12, 13},
	launchCreateV2: {0, 1, 2, 3, 5, 6, 7, 8, 0, 0, 14, 15},
}

// runLauncher creates a mint by calls of other programs only, as launch pads do, or moves it to a
// pool.
func runLauncher(x *machine, f *frame) error {
	x.used += 12_000
	if len(f.data) < 8 {
		return failCustom(anchorInstructionMissing)
	}
	switch tag := [8]byte(f.data[:8]); tag {
	case anchorEventPrefix:
		x.used += 2000
		return nil
	case launchMigrate:
		x.log("Program log: Instruction: Migrate")
		return launchGraduate(x, f)
	case launchCreate, launchCreateV2:
		x.log("Program log: Instruction: Create")
		inner := *f
		inner.accs = nil
		for _, at := range launchAccounts[tag] {
			if at >= len(f.accs) {
				return fail(ErrNotEnoughAccountKeys)
			}
			inner.accs = append(inner.accs, f.accs[at])
		}
		return launch(x, &inner, tag == launchCreateV2)
	}
	return failCustom(anchorFallbackNotFound)
}

// launch makes a token with its metadata, and mints all of it to the curve.
func launch(x *machine, f *frame, token2022 bool) error {
	r := layout.Reader{Rest: f.data[8:]}
	d := layout.MetaplexData{Name: r.Text(), Symbol: r.Text(), URI: r.Text()}
	if r.Bad {
		return failCustom(anchorNotDeserialized)
	}
	mint, creator, token := f.accs[0], f.accs[4], f.accs[6]
	if !mint.signer || !creator.signer {
		return failCustom(anchorNotSigner)
	}
	if x.key(f.accs[1]) != launchAuthority {
		return failCustom(anchorConstraintSeeds)
	}
	if token2022 != (x.key(token) == Token2022Program) {
		return failCustom(anchorConstraintRaw)
	}
	steps := launchSPL
	if token2022 {
		steps = launchToken2022
	}
	if err := steps(x, f, &d); err != nil {
		return err
	}
	return launchFinish(x, f, &d)
}

// launchMint creates the mint with size bytes and the rent for rentFor, as Token-2022's metadata
// makes it grow later.
func launchMint(x *machine, f *frame, size, rentFor int) error {
	mint, authority, creator, token := f.accs[0], f.accs[1], f.accs[4], f.accs[6]
	program := x.key(token)
	from := ref{idx: creator.idx, signer: true, writable: true}
	signedMint := ref{idx: mint.idx, signer: true, writable: true}
	if err := x.call(f, SystemProgram, []ref{from, signedMint}, createAccountData(RentExempt(rentFor), size, program)); err != nil {
		return err
	}
	if program == Token2022Program {
		data := append([]byte{layout.TagMetadataPointer, layout.PointerTagInitialize}, layout.MetadataPointer(x.key(authority), x.key(mint))...)
		if err := x.call(f, program, []ref{{idx: mint.idx, writable: true}}, data); err != nil {
			return err
		}
	}
	return x.call(f, program, []ref{{idx: mint.idx, writable: true}}, layout.InitializeMint2(launchDecimals, x.key(authority), nil))
}

func launchCurveAccount(x *machine, f *frame) error {
	creator := ref{idx: f.accs[4].idx, signer: true, writable: true}
	return x.call(f, AssociatedProgram, []ref{creator, {idx: f.accs[3].idx, writable: true}, {idx: f.accs[2].idx},
		{idx: f.accs[0].idx}, {idx: f.accs[5].idx}, {idx: f.accs[6].idx}}, nil)
}

// launchSPL makes an SPL mint with Metaplex metadata.
func launchSPL(x *machine, f *frame, d *layout.MetaplexData) error {
	if err := launchMint(x, f, layout.MintSize, layout.MintSize); err != nil {
		return err
	}
	if err := launchCurveAccount(x, f); err != nil {
		return err
	}
	authority := ref{idx: f.accs[1].idx, signer: true}
	creator := ref{idx: f.accs[4].idx, signer: true, writable: true}
	data := append(d.Append([]byte{mplCreateV3}), 1, 0)
	return x.call(f, MetaplexProgram, []ref{{idx: f.accs[8].idx, writable: true}, {idx: f.accs[0].idx}, authority, creator,
		{idx: creator.idx, signer: true}, {idx: f.accs[5].idx}}, data)
}

// launchToken2022 makes a Token-2022 mint that holds its metadata itself. The launchpad signs for
// the metadata and then hands its update authority to the creator.
func launchToken2022(x *machine, f *frame, d *layout.MetaplexData) error {
	const base = layout.ExtensionsAt + 4 + 64
	full := base + 4 + 64 + 12 + len(d.Name) + len(d.Symbol) + len(d.URI) + 4
	if err := launchMint(x, f, base, full); err != nil {
		return err
	}
	if err := launchCurveAccount(x, f); err != nil {
		return err
	}
	mint := ref{idx: f.accs[0].idx, writable: true}
	authority := ref{idx: f.accs[1].idx, signer: true}
	data := layout.AppendString(layout.AppendString(layout.AppendString(append([]byte(nil), tmInitialize[:]...), d.Name), d.Symbol), d.URI)
	if err := x.call(f, Token2022Program, []ref{mint, {idx: authority.idx}, {idx: mint.idx}, authority}, data); err != nil {
		return err
	}
	creator := x.key(f.accs[4])
	return x.call(f, Token2022Program, []ref{mint, authority}, append(append([]byte(nil), tmUpdateAuthority[:]...), creator[:]...))
}

// launchFinish mints the whole supply to the curve, gives up the mint authority and emits the
// event.
func launchFinish(x *machine, f *frame, d *layout.MetaplexData) error {
	program := x.key(f.accs[6])
	mint := ref{idx: f.accs[0].idx, writable: true}
	authority := ref{idx: f.accs[1].idx, signer: true}
	if err := x.call(f, program, []ref{mint, {idx: f.accs[3].idx, writable: true}, authority}, layout.MintTo(launchSupply)); err != nil {
		return err
	}
	if err := x.call(f, program, []ref{mint, authority}, layout.SetAuthority(layout.AuthorityMint, nil)); err != nil {
		return err
	}
	event := append(append([]byte(nil), anchorEventPrefix[:]...), launchCreateEvent[:]...)
	event = layout.AppendString(layout.AppendString(layout.AppendString(event, d.Name), d.Symbol), d.URI)
	for _, account := range []int{0, 2, 4, 4} { // mint, curve, user, creator
		key := x.key(f.accs[account])
		event = append(event, key[:]...)
	}
	return x.call(f, LauncherProgram, []ref{{idx: f.accs[10].idx, signer: true}}, event)
}
