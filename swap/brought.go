package swap

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// memberBound is the key in fields under which expand keeps the threshold of a quote that was sent
// back: the least out, or with exact_out the most in. No parameter has this name, so a client
// cannot set it.
const memberBound = "quote.bound"

// sentBack is a quote of this API that the client sends back. The upper fields are those of our own
// format, the lower ones those of Jupiter's format. Only its parameters and its threshold are used.
// The route is computed again from the present state.
type sentBack struct {
	SourceMint   string      `json:"src_mint"`
	TargetMint   string      `json:"dst_mint"`
	AmountIn     string      `json:"amount_in"`
	AmountOut    string      `json:"amount_out"`
	MinAmountOut string      `json:"min_amount_out"`
	MaxAmountIn  string      `json:"max_amount_in"`
	Mode         string      `json:"swap_mode"`
	SlippageBps  json.Number `json:"slippage_bps"`
	FeeBps       json.Number `json:"fee_bps"`

	InputMint   string      `json:"inputMint"`
	OutputMint  string      `json:"outputMint"`
	InAmount    string      `json:"inAmount"`
	OutAmount   string      `json:"outAmount"`
	Threshold   string      `json:"otherAmountThreshold"`
	JupiterMode string      `json:"swapMode"`
	Slippage    json.Number `json:"slippageBps"`
	PlatformFee *struct {
		FeeBps json.Number `json:"feeBps"`
	} `json:"platformFee"`
}

// expand replaces the parameter quote, which is a quote that the client sends back, with the
// parameters and the threshold of that quote. Fields without the parameter quote are returned
// unchanged. It is an error if the client also gives a parameter that is part of the quote.
func (f fields) expand() (fields, error) {
	name, text := f.get(fieldQuote)
	if text == "" {
		return f, nil
	}
	var b sentBack
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		return nil, badRequest("%s must be a quote as this API answered it", name)
	}
	out := slices.DeleteFunc(slices.Clone(f), func(one field) bool { return one.name == name })
	isJupiter := b.InAmount != "" || b.InputMint != ""
	answered := reflect.TypeFor[Response]()
	if isJupiter {
		answered = reflect.TypeFor[jupiterQuote]()
	}
	if err := answeredBy(name, []byte(text), answered); err != nil {
		return nil, err
	}
	if isJupiter {
		// Jupiter's threshold is the least out, or with swapMode ExactOut the most in.
		b.SourceMint, b.TargetMint, b.AmountIn, b.AmountOut = b.InputMint, b.OutputMint, b.InAmount, b.OutAmount
		b.MinAmountOut, b.MaxAmountIn, b.Mode, b.SlippageBps = b.Threshold, b.Threshold, b.JupiterMode, b.Slippage
		if b.PlatformFee != nil {
			b.FeeBps = b.PlatformFee.FeeBps
		}
	}
	// A quote in Jupiter's format, or in Jupiter's parameter, is answered in Jupiter's format.
	if isJupiter || name != fieldQuote {
		out = out.with(fieldFormat, formatJupiter)
	}
	members := map[string]string{
		fieldSource: b.SourceMint, fieldTarget: b.TargetMint, fieldMode: b.Mode, fieldSlippage: b.SlippageBps.String(), fieldFee: b.FeeBps.String(),
	}
	if b.Mode == modeOut || b.Mode == modeOutAlias {
		members[fieldAmountOut], members[memberBound] = b.AmountOut, b.MaxAmountIn
	} else {
		members[fieldAmount], members[memberBound] = b.AmountIn, b.MinAmountOut
	}
	for member, value := range members {
		if _, given := f.get(member); given != "" {
			return nil, badRequest("%s and %s are given: %s is part of the quote", name, member, member)
		}
		out = out.with(member, value)
	}
	if out.text(memberBound) == "" {
		return nil, badRequest("%s must be a quote as this API answered it: its threshold is missing", name)
	}
	return out, nil
}

// answeredBy returns an error if value, which is valid JSON, has a member at any depth that the
// type t of an answer does not have, or has a member twice. What such a member asks for would be
// ignored. path names value in the error.
func answeredBy(path string, value []byte, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	isObject, isArray := value[0] == '{', value[0] == '['
	switch {
	case !isObject && !isArray, t == reflect.TypeFor[json.RawMessage]():
		return nil
	case isArray && t.Kind() == reflect.Slice:
		var entries []json.RawMessage
		if err := json.Unmarshal(value, &entries); err != nil {
			return badRequest(errBody)
		}
		for _, entry := range entries {
			if err := answeredBy(path, entry, t.Elem()); err != nil {
				return err
			}
		}
		return nil
	case isObject && t.Kind() == reflect.Struct:
		members := membersOf(t)
		return eachMember(value, func(name string, value json.RawMessage) error {
			member, ok := members[name]
			if !ok {
				return badRequest("%s has the member %s, and no quote that this API answers has it", path, quoted(name))
			}
			return answeredBy(path+"."+name, value, member)
		})
	}
	return badRequest("%s must be as this API answered it", path)
}

// membersOf returns the types of the fields of a struct by their JSON names, those of embedded
// structs too.
func membersOf(t reflect.Type) map[string]reflect.Type {
	members := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			members[name] = f.Type
		}
	}
	return members
}
