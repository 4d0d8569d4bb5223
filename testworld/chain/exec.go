package chain

import (
	"fmt"
	"strconv"
)

// signatureFee is Solana's base fee in lamports per signature.
const signatureFee = 5000

// Bounds of what the compute budget program may ask for. The first is Solana's
// MAX_COMPUTE_UNIT_LIMIT; the second keeps the fee within 64 bits.
const (
	maxComputeLimit = 1_400_000
	maxComputePrice = 1_000_000_000_000
)

// maxDepth is how deep programs may call each other; an outer instruction has depth 1.
const maxDepth = 5

// defaultComputeLimit is the compute units that one outer instruction gets when the transaction
// sets no limit.
const defaultComputeLimit = 200_000

// programError is what a program returns when it refuses an instruction.
type programError struct {
	kind   ErrorKind
	custom uint32
}

func (e *programError) Error() string {
	switch e.kind {
	case ErrCustom:
		return "custom program error: 0x" + strconv.FormatUint(uint64(e.custom), 16)
	case ErrInvalidAccountData:
		return "invalid account data for instruction"
	case ErrInvalidInstructionData:
		return "invalid instruction data"
	case ErrInsufficientFunds:
		return "insufficient funds for instruction"
	case ErrMissingRequiredSignature:
		return "missing required signature for instruction"
	case ErrNotEnoughAccountKeys:
		return "insufficient account keys for instruction"
	case ErrIncorrectProgramID:
		return "incorrect program id for instruction"
	case ErrModifiedProgramID:
		return "instruction illegally modified the program id of an account"
	case ErrReadonlyDataModified:
		return "instruction modified data of a read-only account"
	case ErrInvalidRealloc:
		return "Failed to reallocate account data"
	case ErrBudgetExceeded:
		return "Computational budget exceeded"
	case ErrEnvironmentSetup:
		return "Failed to create program execution environment"
	case ErrFailedToComplete:
		return "exceeded CUs meter at BPF instruction"
	case ErrInvalidSeeds:
		return "Provided seeds do not result in a valid address"
	default:
		return "program error: " + e.kind.Name()
	}
}

func fail(kind ErrorKind) error    { return &programError{kind: kind} }
func failCustom(code uint32) error { return &programError{kind: ErrCustom, custom: code} }

// program is a native re-implementation of one on-chain program, as far as the actors and tests
// need it.
type program struct {
	id      Key
	run     func(x *machine, f *frame) error
	builtin bool
	// The program's log lines: "invoke" by depth, and the beginnings of the others.
	invoke  [maxDepth]string
	success string
	failed  string
	use     string
}

func newProgram(id Key, builtin bool, run func(x *machine, f *frame) error) *program {
	name := id.String()
	p := &program{id: id, run: run, builtin: builtin, success: "Program " + name + " success",
		failed: "Program " + name + " failed: ", use: "Program " + name + " consumed "}
	for d := range p.invoke {
		p.invoke[d] = fmt.Sprintf("Program %s invoke [%d]", name, d+1)
	}
	return p
}

// newPrograms lists every program that the chain executes.
func newPrograms() map[Key]*program {
	out := map[Key]*program{}
	for _, p := range []*program{
		newProgram(SystemProgram, true, runSystem),
		newProgram(ComputeBudgetProgram, true, runNothing(150)),
		newProgram(VoteProgram, true, runNothing(2100)),
		newProgram(MemoProgram, false, runMemo),
		newProgram(TokenProgram, false, runToken),
		newProgram(Token2022Program, false, runToken),
		newProgram(AssociatedProgram, false, runAssociated),
		newProgram(MetaplexProgram, false, runMetaplex),
		newProgram(LauncherProgram, false, runLauncher),
		newProgram(CPMMProgram, false, runCPMM),
		newProgram(AMMv4Program, false, runAMMv4),
		newProgram(PumpSwapProgram, false, runPumpSwap),
		newProgram(DAMMv2Program, false, runDAMMv2),
		newProgram(CLMMProgram, false, runCLMM),
		newProgram(WhirlpoolProgram, false, runWhirlpool),
		newProgram(DLMMProgram, false, runDLMM),
		newProgram(JupiterProgram, false, runJupiter),
	} {
		out[p.id] = p
	}
	return out
}

// loadedAccount is an account of the running transaction: as it was, and as it is now.
type loadedAccount struct {
	orig  *Account
	cur   Account
	dirty bool
	owned bool // cur.Data is ours to change
}

// ref is an account of a running instruction: its index in the transaction and the rights it came
// with.
type ref struct {
	idx              uint8
	signer, writable bool
}

// frame is a running instruction.
type frame struct {
	p     *program
	accs  []ref
	data  []byte
	depth int
}

// machine runs one transaction against the state.
type machine struct {
	st       *state
	programs map[Key]*program
	derived  *addressCache
	slot     uint64
	now      int64
	epoch    uint64
	msg      *Message
	keys     []Key
	accs     []loadedAccount
	meta     *Meta
	inner    []InnerInstruction
	grown    int // bytes allocated by this transaction
	limit    uint64
	used     uint64
}

// execute runs tx, fills its Meta and Writes and changes the state. If the payer cannot pay the
// fee, it returns an error and the state does not change.
func (x *machine) execute(tx *Tx) error {
	x.msg, x.meta = &tx.Message, &tx.Meta
	x.keys = tx.Message.AccountKeys()
	x.accs = make([]loadedAccount, len(x.keys))
	x.used, x.grown = 0, 0
	tx.Meta.Pre = make([]uint64, len(x.keys))
	for i, k := range x.keys {
		if a := x.st.get(k); a != nil {
			x.accs[i].orig, x.accs[i].cur = a, *a
		} else {
			x.accs[i].cur.Owner = SystemProgram
		}
		tx.Meta.Pre[i] = x.accs[i].cur.Lamports
	}
	tx.Meta.PreTokens = x.tokenBalances()
	if err := x.chargeFee(); err != nil {
		return err
	}
	payer := x.accs[0]
	if tx.Meta.Loaded = x.loaded(); tx.Meta.Loaded > tx.Message.loadedLimit() {
		tx.Meta.Err = &TxError{Kind: ErrLoadedSize}
		x.finish(tx)
		return nil
	}
	x.runAll(tx, payer)
	x.finish(tx)
	return nil
}

// runAll runs the instructions. If one fails, or an account is left short of rent, only the payer's
// fee stays.
func (x *machine) runAll(tx *Tx, payer loadedAccount) {
	for i := range tx.Message.Instructions {
		x.inner = nil
		err := x.outer(&tx.Message.Instructions[i])
		if err == nil {
			err = x.checkWritable()
		}
		if len(x.inner) > 0 {
			tx.Meta.Inner = append(tx.Meta.Inner, Inner{Index: uint8(i), Instructions: x.inner})
		}
		if err != nil {
			x.revert(payer)
			tx.Meta.Err = txError(uint8(i), err)
			break
		}
	}
	if tx.Meta.Err == nil {
		if at := x.rentUnpaid(); at >= 0 {
			x.revert(payer)
			tx.Meta.Err = &TxError{Index: uint8(at), Kind: ErrRent}
		}
	}
}

// checkWritable refuses an instruction that changed an account which the transaction does not lock
// for writing.
func (x *machine) checkWritable() error {
	for i := range x.accs {
		if x.accs[i].dirty && !x.msg.IsWritable(i) {
			return fail(ErrReadonlyDataModified)
		}
	}
	return nil
}

// rentUnpaid returns the index of an account that was left with lamports, but with fewer than keep
// it alive; -1 if there is none. As in Solana, an account must end empty or rent-exempt, unless it
// was short of rent before and neither grew nor gained.
func (x *machine) rentUnpaid() int {
	for i := range x.accs {
		a := &x.accs[i]
		if !a.dirty || a.cur.Lamports == 0 || a.cur.Lamports >= RentExempt(len(a.cur.Data)) {
			continue
		}
		if o := a.orig; o == nil || o.Lamports == 0 || o.Lamports >= RentExempt(len(o.Data)) || len(a.cur.Data) != len(o.Data) || a.cur.Lamports > o.Lamports {
			return i
		}
	}
	return -1
}

func txError(index uint8, err error) *TxError {
	pe, ok := err.(*programError) //nolint:errorlint // programs return it bare
	if !ok {
		return &TxError{Index: index, Kind: ErrInvalidInstructionData}
	}
	return &TxError{Index: index, Kind: pe.kind, Custom: pe.custom}
}

// revert undoes everything but the fee; payer is the payer's account after the fee.
func (x *machine) revert(payer loadedAccount) {
	for i := range x.accs {
		a := &x.accs[i]
		if !a.dirty {
			continue
		}
		*a = loadedAccount{orig: a.orig}
		if a.orig != nil {
			a.cur = *a.orig
		} else {
			a.cur.Owner = SystemProgram
		}
	}
	x.accs[0] = payer
	x.meta.ReturnData = nil
}

// finish writes the changed accounts into the state and fills the rest of the Meta. As on the main
// network, a transaction that succeeds writes all accounts that it locks for writing, those that it
// left as they were too: a swap of AMM v4 here changes the vaults alone, and whoever follows the
// accounts sees that the pool was written with them.
func (x *machine) finish(tx *Tx) {
	tx.Meta.Post = make([]uint64, len(x.keys))
	for i := range x.accs {
		a := &x.accs[i]
		tx.Meta.Post[i] = a.cur.Lamports
		locked := a.orig != nil && x.msg.IsWritable(i) && tx.Meta.Err == nil
		if !a.dirty && !locked {
			continue
		}
		var next *Account
		if a.cur.Lamports > 0 {
			c := a.cur
			next = &c
		}
		if a.dirty {
			x.st.set(x.keys[i], next)
		}
		tx.Writes = append(tx.Writes, Write{Key: x.keys[i], Account: next})
	}
	tx.Meta.PostTokens = x.tokenBalances()
	tx.Meta.ComputeUnits = x.used
}

func (x *machine) outer(ix *CompiledInstruction) error {
	f := &frame{data: ix.Data, depth: 1, accs: make([]ref, len(ix.Accounts))}
	for j, idx := range ix.Accounts {
		f.accs[j] = ref{idx: idx, signer: x.msg.IsSigner(int(idx)), writable: x.msg.IsWritable(int(idx))}
	}
	return x.process(ix.Program, f)
}

// process runs a frame's program and writes the log lines that the runtime would. Using more
// compute units than the limit does not fail: the number is only capped. But without any, no
// program runs.
func (x *machine) process(programIndex uint8, f *frame) error {
	p := x.programs[x.keys[programIndex]]
	if p == nil {
		return fail(ErrUnsupportedProgramID)
	}
	f.p = p
	x.log(p.invoke[f.depth-1])
	start := x.used
	err := x.withoutUnits(p)
	if err == nil {
		err = p.run(x, f)
	}
	if x.used > x.limit {
		x.used = x.limit
	}
	if !p.builtin && !isKind(err, ErrEnvironmentSetup) {
		b := make([]byte, 0, len(p.use)+40)
		b = strconv.AppendUint(append(b, p.use...), x.used-start, 10)
		b = strconv.AppendUint(append(b, " of "...), x.limit-start, 10)
		x.log(string(append(b, " compute units"...)))
	}
	if err != nil {
		x.log(p.failed + err.Error())
		return err
	}
	x.log(p.success)
	return nil
}

// isKind returns whether a program failed with that kind of error.
func isKind(err error, kind ErrorKind) bool {
	pe, ok := err.(*programError) //nolint:errorlint // programs return it bare
	return ok && pe.kind == kind
}

// call is a CPI: it records the inner instruction and runs it one level deeper.
func (x *machine) call(f *frame, programID Key, accs []ref, data []byte) error {
	at := x.find(programID)
	if at < 0 {
		return fail(ErrMissingAccount)
	}
	if f.depth >= maxDepth {
		return fail(ErrInvalidArgument)
	}
	idx := make([]byte, len(accs))
	for i := range accs {
		idx[i] = accs[i].idx
	}
	x.inner = append(x.inner, InnerInstruction{StackHeight: uint32(f.depth + 1),
		CompiledInstruction: CompiledInstruction{Program: uint8(at), Accounts: idx, Data: data}})
	return x.process(uint8(at), &frame{accs: accs, data: data, depth: f.depth + 1})
}

func (x *machine) find(k Key) int {
	return indexOf(x.keys, k)
}

func (x *machine) log(s string) { x.meta.Logs = append(x.meta.Logs, s) }

// acc returns the account of a reference.
func (x *machine) acc(r ref) *Account { return &x.accs[r.idx].cur }

func (x *machine) key(r ref) Key { return x.keys[r.idx] }

// mutable marks the account as changed and returns it. Its data is a copy, made once in a
// transaction, that may be written.
func (x *machine) mutable(r ref) *Account {
	a := &x.accs[r.idx]
	a.dirty = true
	if !a.owned {
		a.cur.Data = append([]byte(nil), a.cur.Data...)
		a.owned = true
	}
	return &a.cur
}

// resize gives the account n data bytes, keeping what fits and zeroing the rest.
func (x *machine) resize(r ref, n int) *Account {
	a := &x.accs[r.idx]
	data := make([]byte, n)
	copy(data, a.cur.Data)
	a.cur.Data, a.owned, a.dirty = data, true, true
	return &a.cur
}

// need refuses an instruction with fewer than n accounts.
func (f *frame) need(n int) error {
	if len(f.accs) < n {
		return fail(ErrNotEnoughAccountKeys)
	}
	return nil
}
