package chain

import (
	"crypto/ed25519"
	"encoding/binary"
	"fmt"

	"github.com/mintlake/mintlake/solana/txwire"
)

// InnerInstruction is a call that a program made; StackHeight is 2 for a direct call of an outer
// instruction.
type InnerInstruction struct {
	CompiledInstruction
	StackHeight uint32
}

// Inner holds the calls made inside outer instruction Index, in order of invocation.
type Inner struct {
	Index        uint8
	Instructions []InnerInstruction
}

// TokenBalance is a token account's amount before or after a transaction.
type TokenBalance struct {
	Index    uint8
	Mint     Key
	Owner    Key
	Program  Key
	Amount   uint64
	Decimals uint8
}

// TxError is why a transaction failed: the error of outer instruction Index. With Kind ErrRent, it
// is the account with that index, which was left with too few lamports to exist. ErrLoadedSize has
// no index.
type TxError struct {
	Index  uint8
	Kind   ErrorKind
	Custom uint32
}

// ErrorKind is the position of a variant in Solana's InstructionError enumeration.
type ErrorKind uint32

// The variants that the chain produces (solana-program, instruction.rs).
const (
	ErrInvalidArgument           ErrorKind = 1
	ErrInvalidInstructionData    ErrorKind = 2
	ErrInvalidAccountData        ErrorKind = 3
	ErrInsufficientFunds         ErrorKind = 5
	ErrIncorrectProgramID        ErrorKind = 6
	ErrMissingRequiredSignature  ErrorKind = 7
	ErrAccountAlreadyInitialized ErrorKind = 8
	ErrUninitializedAccount      ErrorKind = 9
	ErrModifiedProgramID         ErrorKind = 11
	ErrNotEnoughAccountKeys      ErrorKind = 19
	ErrCustom                    ErrorKind = 25
	ErrUnsupportedProgramID      ErrorKind = 30
	ErrMissingAccount            ErrorKind = 32
	ErrReadonlyDataModified      ErrorKind = 15
	ErrInvalidSeeds              ErrorKind = 35
	ErrInvalidRealloc            ErrorKind = 36
	ErrBudgetExceeded            ErrorKind = 37
	ErrEnvironmentSetup          ErrorKind = 39
	ErrFailedToComplete          ErrorKind = 40
	// ErrRent is not an instruction error: it stands for
	// TransactionError::InsufficientFundsForRent.
	ErrRent ErrorKind = 1 << 16
	// ErrLoadedSize stands for TransactionError::MaxLoadedAccountsDataSizeExceeded.
	ErrLoadedSize ErrorKind = 1<<16 + 1
)

// Name is the variant's name as JSON-RPC writes it.
func (k ErrorKind) Name() string {
	switch k {
	case ErrInvalidArgument:
		return "InvalidArgument"
	case ErrInvalidInstructionData:
		return "InvalidInstructionData"
	case ErrInvalidAccountData:
		return "InvalidAccountData"
	case ErrInsufficientFunds:
		return "InsufficientFunds"
	case ErrIncorrectProgramID:
		return "IncorrectProgramId"
	case ErrMissingRequiredSignature:
		return "MissingRequiredSignature"
	case ErrAccountAlreadyInitialized:
		return "AccountAlreadyInitialized"
	case ErrUninitializedAccount:
		return "UninitializedAccount"
	case ErrModifiedProgramID:
		return "ModifiedProgramId"
	case ErrNotEnoughAccountKeys:
		return "NotEnoughAccountKeys"
	case ErrCustom:
		return "Custom"
	case ErrUnsupportedProgramID:
		return "UnsupportedProgramId"
	case ErrMissingAccount:
		return "MissingAccount"
	case ErrReadonlyDataModified:
		return "ReadonlyDataModified"
	case ErrInvalidSeeds:
		return "InvalidSeeds"
	case ErrInvalidRealloc:
		return "InvalidRealloc"
	case ErrBudgetExceeded:
		return "ComputationalBudgetExceeded"
	case ErrEnvironmentSetup:
		return "ProgramEnvironmentSetupFailure"
	case ErrFailedToComplete:
		return "ProgramFailedToComplete"
	case ErrRent:
		return "InsufficientFundsForRent"
	case ErrLoadedSize:
		return "MaxLoadedAccountsDataSizeExceeded"
	}
	return "GenericError"
}

// Variants of TransactionError (solana-transaction-error).
const (
	instructionError         = 8
	insufficientFundsForRent = 31
	loadedSizeExceeded       = 32
)

// OfInstruction returns whether an instruction failed, and not the transaction as a whole.
func (e *TxError) OfInstruction() bool { return e.Kind < ErrRent }

// Bincode is the error as the Geyser protocol carries it: TransactionError::InstructionError(index,
// kind), InsufficientFundsForRent or MaxLoadedAccountsDataSizeExceeded.
func (e *TxError) Bincode() []byte {
	switch e.Kind { //nolint:exhaustive // all others are of instructions
	case ErrRent:
		return append(binary.LittleEndian.AppendUint32(nil, insufficientFundsForRent), e.Index)
	case ErrLoadedSize:
		return binary.LittleEndian.AppendUint32(nil, loadedSizeExceeded)
	}
	b := binary.LittleEndian.AppendUint32(nil, instructionError)
	b = append(b, e.Index)
	b = binary.LittleEndian.AppendUint32(b, uint32(e.Kind))
	if e.Kind == ErrCustom {
		b = binary.LittleEndian.AppendUint32(b, e.Custom)
	}
	return b
}

// Meta is what execution did. Balances are in the order of the accounts, Inner and Logs in the
// order of execution.
type Meta struct {
	Err          *TxError
	Fee          uint64
	Pre, Post    []uint64
	Inner        []Inner
	Logs         []string
	PreTokens    []TokenBalance
	PostTokens   []TokenBalance
	ComputeUnits uint64
	// Loaded is how many bytes of accounts it loaded.
	Loaded uint64
	// ReturnData is what the last program that returned data left, and ReturnProgram that program;
	// nil if none did.
	ReturnProgram Key
	ReturnData    []byte
}

// Tx is a transaction. Executing it sets Meta and Writes.
type Tx struct {
	Signatures []Signature
	Message    Message
	Meta       Meta
	// Writes are the accounts that it wrote, in account order: those that changed and, if it
	// succeeded, also the others that it locks for writing.
	Writes []Write
	Vote   bool
	raw    []byte
	sign   []*Signer
}

// MessageBytes is the serialized message, made once.
func (t *Tx) MessageBytes() []byte {
	if t.raw == nil {
		t.raw = t.Message.Serialize()
	}
	return t.raw
}

// Parts is the whole transaction as txwire has it. It shares the transaction's memory.
func (t *Tx) Parts() *txwire.Transaction {
	out := t.Message.wire()
	for i := range t.Signatures {
		out.Signatures = append(out.Signatures, t.Signatures[i][:])
	}
	return out
}

// Wire is the whole transaction as sent to a node. It panics as Serialize does.
func (t *Tx) Wire() []byte {
	out, err := t.Parts().Append(make([]byte, 0, 512))
	if err != nil {
		panic(fmt.Sprintf("chain: a transaction cannot be written: %v", err))
	}
	return out
}

// signAll fills the signatures of a transaction that the chain itself made; others keep theirs.
func (t *Tx) signAll() error {
	if len(t.Signatures) > 0 {
		return nil
	}
	n := int(t.Message.Header[0])
	sigs := make([]Signature, n)
	for i := range n {
		s := findSigner(t.sign, t.Message.Keys[i])
		if s == nil {
			return fmt.Errorf("sign transaction: no key for signer %s", t.Message.Keys[i])
		}
		copy(sigs[i][:], ed25519.Sign(s.priv, t.MessageBytes()))
	}
	t.Signatures = sigs
	return nil
}

func findSigner(list []*Signer, k Key) *Signer {
	for _, s := range list {
		if s.Key == k {
			return s
		}
	}
	return nil
}
