package layout

import "encoding/binary"

// Clock is the sysvar.
type Clock struct {
	Slot, Epoch uint64
	UnixTime    int64
}

// Bytes returns the sysvar's data; the epoch's start is 0, and so is the leader schedule's.
func (c *Clock) Bytes() []byte {
	d := make([]byte, 40)
	binary.LittleEndian.PutUint64(d, c.Slot)
	binary.LittleEndian.PutUint64(d[16:], c.Epoch)
	binary.LittleEndian.PutUint64(d[32:], uint64(c.UnixTime))
	return d
}

// UpgradeableProgram returns the account of a program of the upgradeable loader.
func UpgradeableProgram(programData Key) []byte { return append([]byte{2, 0, 0, 0}, programData[:]...) }

// ProgramData returns where such a program's code is, with the slot of its deployment and without
// an upgrade authority.
func ProgramData(slot uint64, code []byte) []byte {
	d := AppendU64([]byte{3, 0, 0, 0}, slot)
	d = append(d, make([]byte, 33)...)
	return append(d, code...)
}
