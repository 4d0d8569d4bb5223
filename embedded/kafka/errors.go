package kafka

import (
	"errors"
	"fmt"
)

// The reasons why the embedded broker does not start. Compare with errors.Is.
var (
	// ErrNotLoopback: the address could be reached from other machines.
	ErrNotLoopback = errors.New("address is not loopback")
	// ErrLocked: another process uses the data folder.
	ErrLocked = errors.New("data folder is in use")
	// ErrForeign: the data folder holds files that are not this broker's.
	ErrForeign = errors.New("data folder is not empty and not an embedded Kafka folder")
	// ErrFormat: the data folder was written by a version of this program that this one does not
	// know.
	ErrFormat = errors.New("data folder has an unknown format")
	// ErrAddrInUse: another program listens on the address.
	ErrAddrInUse = errors.New("address is taken")
	// ErrDamaged: the log is damaged on disk in a way that no crash explains.
	ErrDamaged = errors.New("the log is damaged")
	// ErrRepairPending: a repair of the log was interrupted.
	ErrRepairPending = errors.New("a repair was interrupted")
)

// StartError says in one line what is wrong, where, and what the operator can do about it. Unwrap
// returns Reason, and Cause if there is one.
type StartError struct {
	// Reason is one of the Err values of this package.
	Reason error
	// Where is the folder or the address.
	Where string
	// Do is what to do about it, in the imperative.
	Do string
	// Cause is the error of the operating system, or nil.
	Cause error
}

// Error implements error, in one line.
func (e *StartError) Error() string {
	return fmt.Sprintf("embedded kafka: %s: %v: %s", e.Where, e.Reason, e.Do)
}

// Unwrap implements errors.Unwrap for several errors.
func (e *StartError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Cause}
}
