package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/mintlake/mintlake/internal/terminal"
)

const (
	// maxTold bounds the JSON of a tool's answer in bytes: some ten thousand tokens of a model.
	maxTold = 24 << 10
	// maxText bounds a text in characters. Addresses and signatures have 88 at most.
	maxText = 300
	// leastText and leastRows bound what is left of long answers. Addresses stay whole.
	leastText, leastRows = 90, 5
)

// short says what is left out of an answer of the API.
type short struct {
	// drop has the names of members to leave out, wherever they are.
	drop []string
	// rows bounds lists; 0 means no bound. How many were left off stands beside a list.
	rows int
	// texts bounds texts in characters; 0 means no bound.
	texts int
}

// cursors are members that are given back as they came.
var cursors = []string{"next", "next_cursor"}

// shorten leaves out of a JSON text what s says, members that are null, and characters that cannot
// be seen: with these a creator of a token could speak to a model behind its user's back.
func shorten(text []byte, s short) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("the answer cannot be read (%w): is this a token API of Mintlake?", err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s.value(value)); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

func (s short) value(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return s.members(v)
	case []any:
		for i := range v {
			v[i] = s.value(v[i])
		}
	case string:
		return s.text(v)
	}
	return value
}

func (s short) members(members map[string]any) map[string]any {
	kept := make(map[string]any, len(members))
	for name, value := range members {
		if value == nil || slices.Contains(s.drop, name) {
			continue
		}
		if slices.Contains(cursors, name) {
			kept[name] = value
			continue
		}
		if rows, is := value.([]any); is && s.rows > 0 && len(rows) > s.rows {
			kept[name+"_left_off"] = len(rows) - s.rows
			value = rows[:s.rows]
		}
		kept[terminal.Clean(name)] = s.value(value)
	}
	return kept
}

func (s short) text(text string) string {
	text = terminal.Clean(text)
	if s.texts == 0 || utf8.RuneCountInString(text) <= s.texts {
		return text
	}
	return string([]rune(text)[:s.texts]) + "…"
}

// page is the answer of an operation with rows: asked for limit rows, or for fallback if that is 0,
// but never for more than most. While the answer has more than maxTold bytes, it is asked for with
// half as many rows, so that its cursor goes on behind the last row that is told.
func (t *told) page(limit, fallback, most int32, drop []string, rows func(limit *int32) ([]byte, error)) (*told, error) {
	if limit <= 0 {
		limit = fallback
	}
	limit = min(limit, most)
	for asked := limit; ; limit /= 2 {
		text, err := rows(&limit)
		if err != nil {
			return nil, err
		}
		if t.body, err = shorten(text, short{drop: drop, texts: maxText}); err != nil {
			return nil, err
		}
		if len(t.body) <= maxTold || limit == 1 {
			if limit < asked {
				t.notes = append(t.notes, map[string]any{"limit": limit, "asked": asked, "why": "an answer has at most 24 KB: go on with next, or with other bounds"})
			}
			return t, nil
		}
	}
}

// whole is the answer of an operation without pages. If it has more than maxTold bytes, its texts
// are cut shorter, then its lists.
func (t *told) whole(s short, text []byte, err error) (*told, error) {
	if err != nil {
		return nil, err
	}
	for _, s := range []short{{s.drop, s.rows, maxText}, {s.drop, s.rows, leastText}, {s.drop, leastRows, leastText}} {
		if t.body, err = shorten(text, s); err != nil {
			return nil, err
		}
		if len(t.body) <= maxTold {
			break
		}
	}
	return t, nil
}
