package solana

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// The loaders under which a deployed program can be replaced by a new build.
var (
	LoaderUpgradeable = pubkey.MustParse("BPFLoaderUpgradeab1e11111111111111111111111")
	LoaderV4          = pubkey.MustParse("LoaderV411111111111111111111111111111111111")
)

// Layouts of the loaders' accounts (solana-loader-v3-interface: an enum of u32, of which 3 is
// ProgramData, with slot u64 and an optional authority; solana-loader-v4-interface: slot u64,
// authority, status u64).
const (
	kindProgramData    = 3
	programDataSlot    = 4  // where the slot of the deployment is in ProgramData
	loaderV4Code       = 48 // where the executable begins in a program account of loader v4
	ProgramDataCode    = 45 // where the executable begins in an upgradeable program's data account
	DeploymentDataSize = 48 // bytes of each account that DeploymentOf needs
)

// Deployment identifies one deployment of a program.
type Deployment struct {
	Loader pubkey.Key
	// Slot is the slot in which the program was deployed. It is 0 if the program does not exist,
	// was closed, or cannot be deployed again.
	Slot uint64
	// Code is the account that has the executable, from offset At on. It is zero if the program
	// does not exist or was closed.
	Code pubkey.Key
	At   int
}

// ProgramDataAddress returns the account that has a program's executable under the upgradeable
// loader.
func ProgramDataAddress(program pubkey.Key) (address pubkey.Key, ok bool) {
	return tokenaccount.Derive(LoaderUpgradeable, program[:])
}

// DeploymentOf returns the deployment of a program. dataAddress is the program's
// ProgramDataAddress. account is the account at program, and data the account at dataAddress; each
// is nil if it does not exist. The first DeploymentDataSize bytes of each account are enough.
func DeploymentOf(program, dataAddress pubkey.Key, account, data *Account) Deployment {
	switch {
	case account == nil:
		return Deployment{}
	case account.Owner == LoaderUpgradeable:
		return ProgramDataDeployment(dataAddress, data)
	case account.Owner == LoaderV4 && len(account.Data) >= loaderV4Code:
		return Deployment{LoaderV4, binary.LittleEndian.Uint64(account.Data), program, loaderV4Code}
	}
	// Programs of any other loader cannot be deployed again, so there is no slot.
	return Deployment{Loader: account.Owner, Code: program}
}

// ProgramDataDeployment returns the deployment of an upgradeable program, from its data account.
func ProgramDataDeployment(address pubkey.Key, data *Account) Deployment {
	d := Deployment{Loader: LoaderUpgradeable}
	if data != nil && data.Owner == LoaderUpgradeable && len(data.Data) >= ProgramDataCode && binary.LittleEndian.Uint32(data.Data) == kindProgramData {
		d.Slot, d.Code, d.At = binary.LittleEndian.Uint64(data.Data[programDataSlot:]), address, ProgramDataCode
	}
	return d // without code: the program was closed
}

// Executable returns the executable from the account Code, which must have all its data. It returns
// false if the program was closed, or if code is nil, too short, or of another deployment.
func (d Deployment) Executable(code *Account) ([]byte, bool) {
	switch {
	case d.Code == (pubkey.Key{}) || code == nil || len(code.Data) < d.At:
		return nil, false
	case d.Loader == LoaderUpgradeable && binary.LittleEndian.Uint64(code.Data[programDataSlot:]) != d.Slot,
		d.Loader == LoaderV4 && binary.LittleEndian.Uint64(code.Data) != d.Slot:
		return nil, false
	}
	return code.Data[d.At:], true
}

// ExecutableHash returns the SHA-256 of an executable without its trailing zeros, in hexadecimal,
// as solana-verify prints it. The account is often longer than the executable. The loader fills the
// rest with zeros, also after an upgrade to a shorter executable (solana-bpf-loader-program,
// upgrade and extend). So the hash does not depend on the account's length, which SIMD-0433 changes
// with each upgrade. The lengths in the ELF headers would give the same end of the executable, but
// the deployer writes these headers and may write them falsely.
func ExecutableHash(executable []byte) string {
	sum := sha256.Sum256(bytes.TrimRight(executable, "\x00"))
	return hex.EncodeToString(sum[:])
}
