package txerror

import (
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// every returns the bincode of each error that this version knows.
func every() (all [][]byte) {
	for i, name := range transactionErrors {
		head := binary.LittleEndian.AppendUint32(nil, uint32(i))
		switch name {
		case "InstructionError":
			for j, inner := range instructionErrors {
				one := binary.LittleEndian.AppendUint32(append(append([]byte{}, head...), 7), uint32(j))
				if inner == "Custom" {
					one = binary.LittleEndian.AppendUint32(one, 6001)
				}
				all = append(all, one)
			}
		case "DuplicateInstruction", "InsufficientFundsForRent", "ProgramExecutionTemporarilyRestricted":
			all = append(all, append(head, 9))
		default:
			all = append(all, head)
		}
	}
	return all
}

func TestBincodeIsTheInverseOfJSON(t *testing.T) {
	for _, raw := range append(every(), []byte{0xff, 0xff, 0, 0, 1}) {
		text, err := json.Marshal(JSON(raw))
		require.NoError(t, err)
		back, err := Bincode(text)
		require.NoError(t, err, "%s", text)
		require.Equal(t, raw, back, "%s", text)
	}
	for _, text := range []string{"", "null", "{}", `"NoSuchError"`, `{"InstructionError":[0]}`, `{"InstructionError":[999,"Custom"]}`, `{"A":1,"B":2}`} {
		_, err := Bincode([]byte(text))
		require.Error(t, err, text)
	}
}
