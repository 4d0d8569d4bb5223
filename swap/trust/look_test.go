package trust

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/state"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

// TestAServerThatIsBehindChangesNothing: servers differ in how far they are.
func TestAServerThatIsBehindChangesNothing(t *testing.T) {
	s := newScene(t)
	s.deploy("first")
	tr := s.trust(Config{}, Terms{})
	behind := tr.book.records[cpmm.Name].programs[0].mark
	slot := s.deploy("second")
	s.look(tr)
	require.False(t, s.quoted(tr))
	tr.noteDeployments(map[venue.Key]mark{cpmm.Program: behind}, slot-1)
	require.False(t, s.quoted(tr))
	tr.noteDeployments(map[venue.Key]mark{cpmm.Program: behind}, slot+1)
	require.True(t, s.quoted(tr), "the block of the deployment lost its fork")
}

// TestTheStreamTellsOfADeployment: at once, and quotes ask no server while it does.
func TestTheStreamTellsOfADeployment(t *testing.T) {
	s := newScene(t)
	s.deploy("first")
	tr := s.trust(Config{fresh: time.Nanosecond}, Terms{})
	looks := func() int { return s.chain.Calls(swaptest.Slices) }
	before := looks()
	require.NoError(t, tr.Check(t.Context(), 0))
	require.Greater(t, looks(), before, "without a stream each quote looks")
	tr.Live(true, 0)
	tr.lookNow(t.Context())
	before = looks()
	require.NoError(t, tr.Check(t.Context(), s.chain.Slot()))
	require.Equal(t, before, looks())

	slot := s.deploy("second")
	_, accounts, err := s.chain.GetMultipleAccounts(t.Context(), tr.Watched(), solana.AccountOptions{})
	require.NoError(t, err)
	tr.Wrote(state.Write{Slot: slot, Key: tr.Watched()[1], Account: accounts[1]})
	require.Equal(t, ReasonRedeployed, s.reason(tr))
	require.Equal(t, Sum([]byte("second")), tr.Report(cpmm.Name).Programs[0].SHA256)

	tr.Live(false, 0)
	require.NoError(t, tr.Check(t.Context(), s.chain.Slot()))
	require.Greater(t, looks(), before)
	tr.Live(true, 0)
	require.False(t, tr.live.Load(), "what happened before it is connected is not told")
	require.True(t, tr.behind())

	tr.Live(true, s.chain.Slot()+1)
	tr.lookNow(t.Context())
	require.False(t, tr.live.Load(), "the server is behind the stream: it may not have what went before")
	s.deploy("third")
	tr.lookNow(t.Context())
	require.True(t, tr.live.Load())
	tr.Wrote(state.Write{Slot: s.chain.Slot() + 1, Key: tr.Watched()[1]}) // it is closed
	tr.lookNow(t.Context())
	require.False(t, tr.live.Load(), "the server does not have that yet")

	tr.Live(true, 1<<60) // a server that lied
	tr.lookNow(t.Context())
	require.False(t, tr.live.Load())
	tr.leastAt = tr.leastAt.Add(-leastWindow - time.Second)
	tr.lookNow(t.Context())
	require.True(t, tr.live.Load())
}

// elfFile is an ELF file of 64 bits whose last bytes are its section headers, as linkers make it. A
// section header ends with zeros.
func elfFile(t *testing.T, text string) []byte {
	t.Helper()
	var file bytes.Buffer
	const headerSize, sectionSize = 64, 64
	at := uint64(headerSize + len(text))
	header := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_BPF), Version: 1, Shoff: at, Ehsize: headerSize, Shentsize: sectionSize, Shnum: 1}
	copy(header.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	require.NoError(t, binary.Write(&file, binary.LittleEndian, header))
	file.WriteString(text)
	section := elf.Section64{Type: uint32(elf.SHT_PROGBITS), Off: headerSize, Size: uint64(len(text)), Addralign: 1}
	require.NoError(t, binary.Write(&file, binary.LittleEndian, section))
	require.EqualValues(t, at+sectionSize, file.Len(), "the length that its headers say")
	return file.Bytes()
}

// TestASumIsThatOfTheELF: whatever the length of its account is, and whatever stood there before.
func TestASumIsThatOfTheELF(t *testing.T) {
	code := elfFile(t, "first")
	require.Equal(t, byte(0), code[len(code)-1])
	for _, more := range []int{0, 1, 7, 15, 4096, 10 << 20} {
		require.Equal(t, Sum(code), Sum(append(bytes.Clone(code), make([]byte, more)...)))
	}
	require.NotEqual(t, Sum(code), Sum(elfFile(t, "firsu")))
	require.NotEqual(t, Sum(code), Sum(append(bytes.Clone(code), 1)), "what is no zero may be read by some loader")
}

// TestAnAccountThatIsResizedIsTheSameBuild: an upgrade sets the account's length to that of its ELF
// (SIMD-0433), and anybody may make the account of a program longer.
func TestAnAccountThatIsResizedIsTheSameBuild(t *testing.T) {
	s := newScene(t)
	code := elfFile(t, "first")
	s.deploy(string(code) + strings.Repeat("\x00", 5000))
	tr := s.trust(Config{}, Terms{})
	require.True(t, s.quoted(tr))
	for _, more := range []int{0, 10_240, 3} {
		slot := s.deploy(string(code) + strings.Repeat("\x00", more))
		s.look(tr)
		require.True(t, s.quoted(tr))
		require.Equal(t, []Program{{cpmm.Program, slot, Sum(code)}}, tr.Report(cpmm.Name).Programs)
	}
	s.deploy(string(elfFile(t, "other")))
	s.look(tr)
	require.False(t, s.quoted(tr))
}
