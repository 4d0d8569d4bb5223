// Package txerror converts a transaction's error to JSON and back.
//
// In: the bincode of a TransactionError, as Geyser sends it. Out: the JSON value that nodes answer
// with.
// Guarantees: an error never becomes null, which would mean success. An error that this version
// does not know is kept: its number as {"bincode": base64} in JSON, its name behind unknownName in
// bincode.
package txerror

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
)

// transactionErrors are the variants of TransactionError in order (solana-transaction-error 4.1).
var transactionErrors = strings.Fields(`AccountInUse AccountLoadedTwice AccountNotFound ProgramAccountNotFound InsufficientFundsForFee
InvalidAccountForFee AlreadyProcessed BlockhashNotFound InstructionError CallChainTooDeep MissingSignatureForFee InvalidAccountIndex
SignatureFailure InvalidProgramForExecution SanitizeFailure ClusterMaintenance AccountBorrowOutstanding WouldExceedMaxBlockCostLimit
UnsupportedVersion InvalidWritableAccount WouldExceedMaxAccountCostLimit WouldExceedAccountDataBlockLimit TooManyAccountLocks
AddressLookupTableNotFound InvalidAddressLookupTableOwner InvalidAddressLookupTableData InvalidAddressLookupTableIndex
InvalidRentPayingAccount WouldExceedMaxVoteCostLimit WouldExceedAccountDataTotalLimit DuplicateInstruction InsufficientFundsForRent
MaxLoadedAccountsDataSizeExceeded InvalidLoadedAccountsDataSizeLimit ResanitizationNeeded ProgramExecutionTemporarilyRestricted
UnbalancedTransaction ProgramCacheHitMaxLimit CommitCancelled BailOut`)

// instructionErrors are the variants of InstructionError in order (solana-instruction-error 3.1).
var instructionErrors = strings.Fields(`GenericError InvalidArgument InvalidInstructionData InvalidAccountData AccountDataTooSmall
InsufficientFunds IncorrectProgramId MissingRequiredSignature AccountAlreadyInitialized UninitializedAccount UnbalancedInstruction
ModifiedProgramId ExternalAccountLamportSpend ExternalAccountDataModified ReadonlyLamportChange ReadonlyDataModified
DuplicateAccountIndex ExecutableModified RentEpochModified NotEnoughAccountKeys AccountDataSizeChanged AccountNotExecutable
AccountBorrowFailed AccountBorrowOutstanding DuplicateAccountOutOfSync Custom InvalidError ExecutableDataModified
ExecutableLamportChange ExecutableAccountNotRentExempt UnsupportedProgramId CallDepth MissingAccount ReentrancyNotAllowed
MaxSeedLengthExceeded InvalidSeeds InvalidRealloc ComputationalBudgetExceeded PrivilegeEscalation ProgramEnvironmentSetupFailure
ProgramFailedToComplete ProgramFailedToCompile Immutable IncorrectAuthority BorshIoError AccountNotRentExempt InvalidAccountOwner
ArithmeticOverflow UnsupportedSysvar IllegalOwner MaxAccountsDataAllocationsExceeded MaxAccountsExceeded
MaxInstructionTraceLengthExceeded BuiltinProgramsMustConsumeComputeUnits BailOut`)

// unknownName is the number in front of the JSON of an error whose number is not known. No variant
// has it, so a client that decodes bincode takes the error for one of a newer version.
const unknownName = math.MaxUint32

// JSON converts the bincode of a TransactionError to the JSON of nodes: a name, or an object of the
// name and its data. An error that this version does not know becomes {"bincode": base64}, and
// never null, which would mean success.
func JSON(raw []byte) any {
	r := errorReader{raw}
	if n, ok := r.u32(); ok && n == unknownName {
		if _, _, err := variant(r.rest); err == nil {
			return json.RawMessage(bytes.ToValidUTF8(r.rest, []byte("\ufffd")))
		}
	}
	r = errorReader{raw}
	name := r.variant(transactionErrors)
	switch name {
	case "":
	case "InstructionError":
		index, ok := r.byte()
		inner := r.instructionError()
		if ok && inner != nil {
			return map[string]any{name: [2]any{index, inner}}
		}
	case "DuplicateInstruction":
		if index, ok := r.byte(); ok {
			return map[string]any{name: index}
		}
	case "InsufficientFundsForRent", "ProgramExecutionTemporarilyRestricted":
		if index, ok := r.byte(); ok {
			return map[string]any{name: map[string]any{"account_index": index}}
		}
	default:
		return name
	}
	return map[string]any{"bincode": base64.StdEncoding.EncodeToString(raw)}
}

type errorReader struct{ rest []byte }

func (r *errorReader) u32() (uint32, bool) {
	if len(r.rest) < 4 {
		return 0, false
	}
	n := binary.LittleEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	return n, true
}

func (r *errorReader) byte() (int, bool) {
	if len(r.rest) < 1 {
		return 0, false
	}
	n := int(r.rest[0])
	r.rest = r.rest[1:]
	return n, true
}

// variant returns the name of an enum's variant; empty if it is not known.
func (r *errorReader) variant(names []string) string {
	n, ok := r.u32()
	if !ok || int64(n) >= int64(len(names)) {
		return ""
	}
	return names[n]
}

// instructionError reads an InstructionError: its name, or an object of the name and its data. It
// returns nil if the error is not known or cut off.
func (r *errorReader) instructionError() any {
	switch name := r.variant(instructionErrors); name {
	case "":
		return nil
	case "Custom":
		code, ok := r.u32()
		if !ok {
			return nil
		}
		return map[string]any{name: code}
	case "BorshIoError":
		// Before agave 3 a BorshIoError had a text, which nodes put into the JSON.
		if len(r.rest) >= 8 {
			if n := binary.LittleEndian.Uint64(r.rest); n <= uint64(len(r.rest)-8) {
				return map[string]any{name: strings.ToValidUTF8(string(r.rest[8:8+n]), "\ufffd")}
			}
		}
		return name
	default:
		return name
	}
}
