package evidence

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// confusables are Unicode's prototypes; the file's header has its version and licence.
//
//go:embed confusables.txt
var confusables string

// Skeletons maps texts that look alike to the same text, their skeleton.
type Skeletons struct {
	prototypes map[rune]string
	ascii      [utf8.RuneSelf]string
}

// NewSkeletons reads Unicode's table, some 7,000 lines.
func NewSkeletons() (*Skeletons, error) {
	s := &Skeletons{prototypes: make(map[rune]string, strings.Count(confusables, "\n"))}
	for line := range strings.Lines(confusables) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var runes []rune
		for field := range strings.FieldsSeq(line) {
			code, err := strconv.ParseInt(field, 16, 32)
			if err != nil {
				return nil, fmt.Errorf("confusables: line %q: %w", line, err)
			}
			runes = append(runes, rune(code))
		}
		if len(runes) < 2 {
			return nil, fmt.Errorf("confusables: line %q has no prototype", line)
		}
		s.prototypes[runes[0]] = string(runes[1:])
	}
	for c := range s.ascii {
		s.ascii[c] = string(rune(c))
		if prototype, ok := s.prototypes[rune(c)]; ok {
			s.ascii[c] = prototype
		}
	}
	return s, nil
}

// Symbol returns the skeleton of a symbol without a leading $ or #, which some write and some do
// not.
func (s *Skeletons) Symbol(text string) string {
	return s.Text(strings.TrimLeft(strings.TrimSpace(text), "$#"))
}

// Text returns the skeleton of a text, for comparison and not for people. It is the skeleton of UTS
// #39 (NFD, default ignorables removed, each character replaced by its prototype, NFD) of the text
// in capitals: case does not tell tokens apart, and symbols are written in capitals. Changing the
// case would hide what the eye sees, so these steps come before it:
//
//	NFKC
//	a character whose prototype is ASCII becomes that: Greek small nu a v, capital nu an N
//	leading and trailing white space is cut, and any inside becomes one blank
//	an l among capitals only becomes an I (WlF), an I after a small letter an l (SoIana)
func (s *Skeletons) Text(text string) string {
	if !isASCII(text) {
		text = s.asDisplayed(norm.NFKC.String(strings.ToValidUTF8(text, string(utf8.RuneError))))
	}
	text = strings.ToUpper(readTall(blanks(text)))
	var out strings.Builder
	out.Grow(len(text))
	plain := true
	for _, r := range text {
		if r < utf8.RuneSelf {
			out.WriteString(s.ascii[r])
			continue
		}
		plain = false
		if prototype, ok := s.prototypes[r]; ok {
			out.WriteString(prototype)
		} else {
			out.WriteRune(r)
		}
	}
	if plain {
		return out.String()
	}
	return norm.NFD.String(out.String())
}

// asDisplayed drops characters that show nothing, and replaces those whose prototype is ASCII by
// that prototype.
func (s *Skeletons) asDisplayed(text string) string {
	var out strings.Builder
	for _, r := range text {
		if ignorable(r) {
			continue
		}
		if prototype, ok := s.prototypes[r]; ok && r >= utf8.RuneSelf && isASCII(prototype) {
			out.WriteString(prototype)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// blanks cuts leading and trailing white space, and replaces any inside by one blank.
func blanks(text string) string {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= utf8.RuneSelf {
			return strings.Join(strings.Fields(text), " ")
		}
	}
	return text
}

// readTall replaces l by I, or I by l, where a reader would take it for the other because of the
// letters around it.
func readTall(text string) string {
	if !strings.ContainsAny(text, "lI") {
		return text
	}
	capitals, small := false, false
	for _, r := range text {
		capitals = capitals || unicode.IsUpper(r)
		small = small || r != 'l' && unicode.IsLower(r)
	}
	out := []byte(text)
	for i, c := range out {
		switch {
		case c == 'l' && capitals && !small:
			out[i] = 'I'
		case c == 'I' && i > 0 && text[i-1] >= 'a' && text[i-1] <= 'z' && small:
			out[i] = 'l'
		}
	}
	return string(out)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// ignorable returns whether a character has Unicode's property Default_Ignorable_Code_Point: it
// shows nothing. https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point
func ignorable(r rune) bool {
	switch {
	case r < 0xAD:
		return false
	case r >= 0xFFF9 && r <= 0xFFFB, r >= 0x13430 && r <= 0x1343F, unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
