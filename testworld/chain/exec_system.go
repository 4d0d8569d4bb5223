package chain

import (
	"encoding/binary"
	"slices"
)

// runNothing returns a program without effects (compute budget, votes), which uses some compute
// units.
func runNothing(units uint64) func(x *machine, f *frame) error {
	return func(x *machine, _ *frame) error {
		x.used += units
		return nil
	}
}

// runMemo logs the memo. Every account given must sign.
func runMemo(x *machine, f *frame) error {
	x.used += 130 + uint64(len(f.data))*2
	for _, a := range f.accs {
		if !a.signer {
			return fail(ErrMissingRequiredSignature)
		}
	}
	x.log("Program log: Memo (len " + utoa(uint64(len(f.data))) + "): \"" + string(f.data) + "\"")
	return nil
}

// maxAllocation is the bytes that one transaction may allocate (solana-account-limits, 20 MiB).
const maxAllocation = 20 << 20

// System program errors (solana-system-interface, SystemError).
const (
	sysAlreadyInUse   = 0
	sysNegativeResult = 1
	sysInvalidLength  = 3
)

// maxAccountData is the most bytes of an account (MAX_PERMITTED_DATA_LENGTH, 10 MiB).
const maxAccountData = 10 << 20

// System program instructions (solana-system-interface, SystemInstruction).
const (
	sysCreateAccount = 0
	sysAssign        = 1
	sysTransfer      = 2
	sysAllocate      = 8
)

func runSystem(x *machine, f *frame) error {
	x.used += 150
	if len(f.data) < 4 {
		return fail(ErrInvalidInstructionData)
	}
	body := f.data[4:]
	switch binary.LittleEndian.Uint32(f.data) {
	case sysCreateAccount:
		return sysCreate(x, f, body)
	case sysTransfer:
		if len(body) < 8 {
			return fail(ErrInvalidInstructionData)
		}
		if err := f.need(2); err != nil {
			return err
		}
		return sysMove(x, f.accs[0], f.accs[1], binary.LittleEndian.Uint64(body))
	case sysAllocate:
		if len(body) < 8 || f.need(1) != nil {
			return fail(ErrInvalidInstructionData)
		}
		return sysAlloc(x, f.accs[0], binary.LittleEndian.Uint64(body))
	case sysAssign:
		if len(body) < 32 || f.need(1) != nil {
			return fail(ErrInvalidInstructionData)
		}
		return sysGive(x, f.accs[0], Key(body[:32]))
	}
	return fail(ErrInvalidInstructionData)
}

// sysCreate runs CreateAccount. Data: lamports, size, owner.
func sysCreate(x *machine, f *frame, body []byte) error {
	if len(body) < 48 {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(2); err != nil {
		return err
	}
	from, to := f.accs[0], f.accs[1]
	if !to.signer {
		return fail(ErrMissingRequiredSignature)
	}
	if x.acc(to).Lamports > 0 {
		x.log("Create Account: account already in use")
		return failCustom(sysAlreadyInUse)
	}
	if err := sysAlloc(x, to, binary.LittleEndian.Uint64(body[8:])); err != nil {
		return err
	}
	copy(x.mutable(to).Owner[:], body[16:48])
	return sysMove(x, from, to, binary.LittleEndian.Uint64(body))
}

// sysAlloc gives an empty account of the system program its size.
func sysAlloc(x *machine, r ref, size uint64) error {
	if !r.signer {
		return fail(ErrMissingRequiredSignature)
	}
	if len(x.acc(r).Data) > 0 || x.acc(r).Owner != SystemProgram {
		return failCustom(sysAlreadyInUse)
	}
	if x.grown += int(min(size, maxAllocation+1)); size > maxAccountData || x.grown > maxAllocation {
		return failCustom(sysInvalidLength)
	}
	x.resize(r, int(size))
	return nil
}

// sysGive runs Assign: the account gets another owner. For the owner that it has, nothing is to be
// done, not even to sign. Else the account must sign. The runtime lets no program give away an
// account that another program owns, that is read-only, or that holds other bytes than zeros
// (set_owner of solana-transaction-context).
func sysGive(x *machine, r ref, owner Key) error {
	a := x.acc(r)
	if a.Owner == owner {
		return nil
	}
	if !r.signer {
		return fail(ErrMissingRequiredSignature)
	}
	if a.Owner != SystemProgram || !r.writable || slices.ContainsFunc(a.Data, func(b byte) bool { return b != 0 }) {
		return fail(ErrModifiedProgramID)
	}
	x.mutable(r).Owner = owner
	return nil
}

// sysMove runs a System transfer: the source must sign, be owned by the system program and have no
// data.
func sysMove(x *machine, from, to ref, lamports uint64) error {
	if !from.signer {
		return fail(ErrMissingRequiredSignature)
	}
	src := x.acc(from)
	if len(src.Data) > 0 || src.Owner != SystemProgram {
		return fail(ErrInvalidArgument)
	}
	if src.Lamports < lamports {
		x.log("Transfer: insufficient lamports " + utoa(src.Lamports) + ", need " + utoa(lamports))
		return failCustom(sysNegativeResult)
	}
	moveLamports(x, from, to, lamports)
	return nil
}

func moveLamports(x *machine, from, to ref, lamports uint64) {
	x.accs[from.idx].cur.Lamports -= lamports
	x.accs[from.idx].dirty = true
	x.accs[to.idx].cur.Lamports += lamports
	x.accs[to.idx].dirty = true
}
