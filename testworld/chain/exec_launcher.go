package chain

import "github.com/mintlake/mintlake/testworld/layout"

// The launcher's instruction and event discriminators, made as Anchor makes them, and the prefix of
// Anchor's self-CPI events.
var (
	launchCreate      = layout.Discriminator("global:create")
	launchCreateEvent = layout.Discriminator("event:CreateEvent")
	anchorEventPrefix = [8]byte{0xe4, 0x45, 0xa5, 0x2e, 0x51, 0xcb, 0x9a, 0x1d}
	// launchAuthority is the mint authority while a launch runs.
	launchAuthority, _ = pda(LauncherProgram, []byte("mint-authority"))
	launchEvents, _    = pda(LauncherProgram, []byte("__event_authority"))
)

// launchSupply and launchDecimals are those of every launched token: a billion tokens of six
// decimals.
const (
	launchSupply   = 1_000_000_000_000_000
	launchDecimals = 6
)

// runLauncher creates a mint by calls of other programs only, as launch pads do. Accounts of
// create: mint (signer), mint authority (its PDA), curve (PDA), curve's token account, creator
// (signer), system program, token program, associated token program, metadata, metadata program,
// event authority, launcher.
func runLauncher(x *machine, f *frame) error {
	x.used += 12_000
	if len(f.data) < 8 {
		return failCustom(anchorInstructionMissing)
	}
	switch [8]byte(f.data[:8]) {
	case anchorEventPrefix:
		x.used += 2000
		return nil
	case launchCreate:
		x.log("Program log: Instruction: Create")
		return launch(x, f)
	}
	return failCustom(anchorFallbackNotFound)
}

// launch runs the launchpad's one instruction: it makes a token with its metadata, and mints
// all of it to the curve.
func launch(x *machine, f *frame) error {
	r := layout.Reader{Rest: f.data[8:]}
	d := layout.MetaplexData{Name: r.Text(), Symbol: r.Text(), URI: r.Text()}
	if r.Bad {
		return failCustom(anchorNotDeserialized)
	}
	if err := f.need(12); err != nil {
		return err
	}
	mint, creator, token := f.accs[0], f.accs[4], f.accs[6]
	if !mint.signer || !creator.signer {
		return failCustom(anchorNotSigner)
	}
	if x.key(f.accs[1]) != launchAuthority {
		return failCustom(anchorConstraintSeeds)
	}
	steps := launchSPL
	if x.key(token) == Token2022Program {
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
	m, c := x.key(f.accs[0]), x.key(f.accs[4])
	event := append(append([]byte(nil), anchorEventPrefix[:]...), launchCreateEvent[:]...)
	event = layout.AppendString(layout.AppendString(layout.AppendString(event, d.Name), d.Symbol), d.URI)
	event = append(append(event, m[:]...), c[:]...)
	return x.call(f, LauncherProgram, []ref{{idx: f.accs[10].idx, signer: true}}, event)
}
