package deadletter

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Line formats the dead letter for a terminal. Reason and key come from outside, so they are
// quoted: control characters would reach the terminal.
func (l *Letter) Line() string {
	at := fmt.Sprintf("%d/%d %s", l.Partition, l.Offset, l.At.UTC().Format(time.RFC3339))
	if l.Err != nil {
		return at + " is no dead letter: " + strconv.QuoteToASCII(l.Err.Error())
	}
	return fmt.Sprintf("%s %s %s %d bytes: %s", at, strconv.QuoteToASCII(l.GetSource()), l.Place(), l.GetValueBytes(),
		strconv.QuoteToASCII(l.GetReason()))
}

// Place returns the topic, partition and offset of the record, or the name of the input.
func (l *Letter) Place() string {
	if l.GetTopic() == "" {
		return "input " + strconv.QuoteToASCII(string(l.GetKey()))
	}
	where := fmt.Sprintf("%s/%d@%d", strconv.QuoteToASCII(l.GetTopic()), l.GetPartition(), l.GetOffset())
	return strings.ReplaceAll(where, `"`, "")
}
