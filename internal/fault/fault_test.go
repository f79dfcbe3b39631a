package fault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestEveryKindHasItsDocumentedExitCode(t *testing.T) {
	want := map[Kind]int{Internal: 1, AgentFailed: 1, Usage: 2, Environment: 3, Refused: 4, Limit: 5, Conflict: 6, Interrupted: 130, NotFound: 2}
	for _, kind := range kinds {
		if kind.ExitCode() != want[kind] {
			t.Errorf("%v exits with %d", kind, kind.ExitCode())
		}
		if ParseKind(kind.String()) != kind {
			t.Errorf("%v is read back as %v", kind, ParseKind(kind.String()))
		}
	}
	if len(kinds) != len(want) {
		t.Errorf("%d kinds, %d codes", len(kinds), len(want))
	}
}

func TestTheReadmeListsEveryKindWithItsExitCode(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(readme), "\n`kind` is ")
	text, _, ended := strings.Cut(text, "`hints`")
	if !found || !ended {
		t.Fatal("the README does not say what kind is")
	}
	documented := map[string]int{}
	for _, group := range regexp.MustCompile(`([^()]+)\((?:exit code )?([0-9]+)\)`).FindAllStringSubmatch(text, -1) {
		for _, name := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(group[1], -1) {
			documented[name[1]], _ = strconv.Atoi(group[2])
		}
	}
	want := map[string]int{}
	for _, kind := range kinds {
		want[kind.String()] = kind.ExitCode()
	}
	if !maps.Equal(documented, want) {
		t.Errorf("the README has %v, and the kinds are %v", documented, want)
	}
}

func TestOutermostFaultGivesTheKindAndAllFaultsGiveHints(t *testing.T) {
	inner := New(Environment, "no runsc").Hint("install it")
	outer := New(Usage, "bad start: %w", fmt.Errorf("checking: %w", inner)).Hint("see --help")
	err := fmt.Errorf("running: %w", outer)
	if KindOf(err) != Usage {
		t.Errorf("kind is %v", KindOf(err))
	}
	if got := Hints(err); !reflect.DeepEqual(got, []string{"see --help", "install it"}) {
		t.Errorf("hints are %q", got)
	}
	if outer.Error() != "bad start: checking: no runsc" {
		t.Errorf("message is %q", outer.Error())
	}
}

func TestJoinedErrorsGiveEachHintOnce(t *testing.T) {
	one := New(Usage, "one: %w", New(Usage, "inner").Hint("look inside")).Hint("try one")
	err := fmt.Errorf("all: %w", errors.Join(one, errors.New("plain"), New(Limit, "two").Hint("try two").Hint("try one")))
	if got := Hints(err); !reflect.DeepEqual(got, []string{"try one", "look inside", "try two"}) {
		t.Errorf("hints are %q", got)
	}
}

func TestNoSentenceNamesANilCause(t *testing.T) {
	var none error
	for _, verb := range []string{"%w", "%v", "%s"} {
		if got := New(Internal, "it ended: "+verb, none).Error(); got != "it ended: no reason was given" {
			t.Errorf("%s of no error is %q", verb, got)
		}
	}
}

func TestUnclassifiedErrorsAreNeverSuccess(t *testing.T) {
	for err, want := range map[error]Kind{
		errors.New("plain"):                           Internal,
		fmt.Errorf("w: %w", context.Canceled):         Interrupted,
		context.DeadlineExceeded:                      Limit,
		errors.Join(errors.New("a"), New(Limit, "b")): Limit,
	} {
		if KindOf(err) != want || KindOf(err).ExitCode() == 0 {
			t.Errorf("%v is %v", err, KindOf(err))
		}
	}
}
