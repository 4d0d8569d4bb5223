package svg

import (
	"strings"

	"github.com/tdewolff/parse/v2/css"
)

// sheet is a cleaned style element.
type sheet struct {
	text string
	// references are what the style rules refer to in the document. The key is the subject of a
	// rule's selector: "#id", ".class", "tag" or "*", see selectors.
	references map[string][]reference

	counted struct{ rules, selectors, declarations int }
}

// cleanSheet keeps rules with simple selectors, @media and @keyframes. It leaves out every rule
// that it cannot interpret.
func cleanSheet(text string) (*sheet, error) {
	if len(text) > maxSheetBytes {
		return nil, bounds("a style sheet of %d bytes", len(text))
	}
	made := &sheet{references: map[string][]reference{}}
	list, ok := tokensOf(text)
	if !ok {
		// Each rule is split on its own, so that a rule with an escape does not take the others
		// with it.
		for _, part := range strings.SplitAfter(text, "}") {
			if list, ok := tokensOf(part); ok {
				if err := made.ruleList(list, 0); err != nil {
					return nil, err
				}
			}
		}
		return made, nil
	}
	if err := made.ruleList(list, 0); err != nil {
		return nil, err
	}
	return made, nil
}

// ruleList cleans a list of rules. depth is 1 inside @media, which must not contain another @media.
func (s *sheet) ruleList(list []token, depth int) error {
	for len(list) > 0 {
		prelude, body, rest, closed := nextRule(list)
		list = rest
		prelude = trim(prelude)
		if !closed || len(prelude) == 0 {
			continue
		}
		if s.counted.rules++; s.counted.rules > maxRules {
			return bounds("more than %d style rules", maxRules)
		}
		if err := s.rule(prelude, body, depth); err != nil {
			return err
		}
	}
	return nil
}

// rule cleans one rule. For each subject of the rule (see selectors) it notes what the declarations
// refer to.
func (s *sheet) rule(prelude, body []token, depth int) error {
	if prelude[0].kind == css.AtKeywordToken {
		return s.atRule(prelude, body, depth)
	}
	subjects, err := s.selectors(prelude)
	if err != nil || subjects == nil {
		return err
	}
	clean := declarationsOf(body)
	if s.counted.declarations += strings.Count(clean.text, ";") + 1; s.counted.declarations > maxDeclarations {
		return bounds("more than %d style declarations", maxDeclarations)
	}
	if clean.text == "" {
		return nil
	}
	for _, subject := range subjects {
		if s.references[subject] = append(s.references[subject], clean.references...); len(s.references[subject]) > maxReferences {
			return bounds("more than %d references in style rules of %.40s", maxReferences, subject)
		}
	}
	s.text += textOf(prelude) + "{" + clean.text + "}"
	return nil
}

// atRule keeps @media with its rules, and @keyframes.
func (s *sheet) atRule(prelude, body []token, depth int) error {
	condition := trim(prelude[1:])
	switch strings.ToLower(prelude[0].text) {
	case "@media":
		for _, t := range condition {
			switch t.kind {
			case css.IdentToken, css.WhitespaceToken, css.LeftParenthesisToken, css.RightParenthesisToken, css.ColonToken, css.CommaToken, css.NumberToken,
				css.DimensionToken:
			default:
				return nil
			}
		}
		if depth > 0 {
			return nil
		}
		s.text += "@media " + textOf(condition) + "{"
		err := s.ruleList(body, depth+1)
		s.text += "}"
		return err
	case "@keyframes":
		if len(condition) != 1 || condition[0].kind != css.IdentToken {
			return nil
		}
		s.text += "@keyframes " + condition[0].text + "{"
		err := s.writeKeyframes(body)
		s.text += "}"
		return err
	}
	return nil // all others, such as @import, @font-face and @namespace
}

// writeKeyframes appends the keyframes of an @keyframes rule to s.text, with their allowed
// declarations. It leaves out a keyframe without any, and one that refers to an element of the
// document, like url(#id).
func (s *sheet) writeKeyframes(list []token) error {
	for len(list) > 0 {
		prelude, body, rest, closed := nextRule(list)
		list = rest
		if s.counted.rules++; s.counted.rules > maxRules {
			return bounds("more than %d style rules", maxRules)
		}
		clean := declarationsOf(body)
		if !closed || len(clean.references) > 0 || clean.text == "" || !isKeyframe(prelude) {
			continue
		}
		s.text += textOf(trim(prelude)) + "{" + clean.text + "}"
	}
	return nil
}

func isKeyframe(prelude []token) bool {
	for _, t := range prelude {
		switch t.kind {
		case css.PercentageToken, css.WhitespaceToken, css.CommaToken:
		case css.IdentToken:
			if word := strings.ToLower(t.text); word != "from" && word != "to" {
				return false
			}
		default:
			return false
		}
	}
	return len(trim(prelude)) > 0
}

// nextRule splits the first rule off the list: prelude is what comes before its braces, body what
// is in them, rest what follows. closed is false for a statement without braces, like @import.
func nextRule(list []token) (prelude, body, rest []token, closed bool) {
	depth, begin := 0, 0
	for i, t := range list {
		switch t.kind {
		case css.SemicolonToken:
			if depth == 0 {
				return list[:i], nil, list[i+1:], false
			}
		case css.LeftBraceToken:
			if depth++; depth == 1 {
				begin = i
			}
		case css.RightBraceToken:
			if depth--; depth < 0 {
				return list[:i], nil, list[i+1:], false
			}
			if depth == 0 {
				return list[:begin], list[begin+1 : i], list[i+1:], true
			}
		default:
		}
	}
	return list, nil, nil, false
}

// pseudo are the pseudo-classes that a selector may have. Only hover depends on the viewer, and
// none on the page around the drawing.
var pseudo = setOf("root first-child last-child only-child first-of-type last-of-type hover")

// selectors returns the subject of each of a rule's selectors: what the last part of the selector
// asks of an element. It is the id, or else a class, or else the tag, or else "*". The result is
// nil if one selector cannot be interpreted.
func (s *sheet) selectors(prelude []token) ([]string, error) {
	var subjects []string
	for _, one := range split(prelude, css.CommaToken) {
		if s.counted.selectors++; s.counted.selectors > maxSelectors {
			return nil, bounds("more than %d style selectors", maxSelectors)
		}
		subject, ok := subjectOf(trim(one))
		if !ok {
			return nil, nil
		}
		subjects = append(subjects, subject)
	}
	return subjects, nil
}

// subjectOf returns the subject of one selector.
func subjectOf(one []token) (string, bool) {
	tag, class, id, compounds := "", "", "", 1
	for i := 0; i < len(one); i++ {
		switch t := one[i]; {
		case t.kind == css.WhitespaceToken, t.kind == css.DelimToken && (t.text == ">" || t.text == "+" || t.text == "~"):
			compounds++
			tag, class, id = "", "", ""
		case t.kind == css.DelimToken && t.text == "*":
		case t.kind == css.IdentToken:
			tag = t.text
		case t.kind == css.HashToken:
			id = t.text
		case t.kind == css.DelimToken && t.text == "." && i+1 < len(one) && one[i+1].kind == css.IdentToken:
			i++
			class = "." + one[i].text
		case t.kind == css.ColonToken && i+1 < len(one) && one[i+1].kind == css.IdentToken && pseudo[strings.ToLower(one[i+1].text)]:
			i++
		default:
			return "", false
		}
	}
	switch {
	case len(one) == 0 || compounds > maxCompounds:
		return "", false
	case id != "":
		return id, true
	case class != "":
		return class, true
	case tag != "":
		return tag, true
	}
	return "*", true
}
