package segments

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"slices"
)

// maxCorrected bounds the size of a batch in which correct looks for one wrong bit. Larger damage
// looks like one wrong bit with a probability of (bits of the batch) / 2^32: 1 in 2,000 at this
// size. So the corrected records must be readable, too.
const maxCorrected = 256 << 10

// correct returns the batch at offset base with its one wrong bit corrected. It returns nil if raw
// has other damage or is longer than maxCorrected. CRC-32C shows which bit is wrong: at these
// lengths its Hamming distance is 4. So each single bit changes the checksum in its own way, and
// two wrong bits never change it as one wrong bit does.
func correct(raw []byte, base int64) []byte {
	if len(raw) < headerBytes || len(raw) > maxCorrected || sizeOf(raw) != int64(len(raw)) {
		return nil
	}
	if int64(binary.BigEndian.Uint64(raw)) != base || raw[posMagic] != magic || binary.BigEndian.Uint32(raw[posEpoch:]) != 0 {
		return nil
	}
	stored := binary.BigEndian.Uint32(raw[posCRC:])
	syndrome := stored ^ crc32.Checksum(raw[posAttributes:], castagnoli)
	fixed := slices.Clone(raw)
	if bits.OnesCount32(syndrome) == 1 {
		binary.BigEndian.PutUint32(fixed[posCRC:], stored^syndrome) // the checksum itself
	} else if !flip(fixed[posAttributes:], syndrome) {
		return nil
	}
	if !sound(fixed) || !readable(fixed) {
		return nil
	}
	return fixed
}

// flip corrects the one bit of data whose flip XORs syndrome into the checksum. It returns false if
// there is no such bit. A CRC is linear: what a flipped bit does to it depends only on the bit's
// distance from the end. So the loop goes from the last byte to the first, and carries the effect
// of a flip of each of the eight bits. One byte further from the end is one step of the CRC over a
// zero byte.
func flip(data []byte, syndrome uint32) bool {
	var changes [8]uint32 // effect of a flip of each bit of data[i] on the checksum
	for bit := range changes {
		changes[bit] = castagnoli[1<<bit]
	}
	for i := len(data) - 1; i >= 0; i-- {
		for bit, change := range changes {
			if change == syndrome {
				data[i] ^= 1 << bit
				return true
			}
			changes[bit] = castagnoli[byte(change)] ^ change>>8 // one byte further from the end
		}
	}
	return false
}
