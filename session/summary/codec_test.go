package summary

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"aibox/session"
)

// filled returns a summary in which no field is zero.
func filled(t *testing.T) (full Summary) {
	t.Helper()
	fields := reflect.ValueOf(&full).Elem()
	for i := range fields.NumField() {
		switch field := fields.Field(i); field.Interface().(type) {
		case time.Time:
			field.Set(reflect.ValueOf(time.Date(2026, 1, i+1, 2, 3, 4, 5, time.UTC)))
		case bool:
			field.SetBool(true)
		case int, int64:
			field.SetInt(int64(-1000 * (i + 1)))
		case float64:
			field.SetFloat(-0.1 * float64(i+1))
		case session.Usage: // lists never have it; only Usages measures
		default:
			field.SetString(strings.Repeat("ä", i*10+1)) // panics if the kind is not handled yet
		}
	}
	return full
}

func TestEveryFieldOfASummaryIsCached(t *testing.T) {
	want := cachedSummaries{[]stateVersion{{}, {1 << 40, time.Now().UnixNano()}, {}}, []Summary{{}, filled(t), {ID: "b"}}}
	if got := decodeSummaries(encodeSummaries(want)); !reflect.DeepEqual(got, want) {
		t.Errorf("decoded\n%+v\nwant\n%+v", got, want)
	}
}

func TestADamagedCacheOfSummariesIsIgnored(t *testing.T) {
	data := encodeSummaries(cachedSummaries{[]stateVersion{{1, 2}}, []Summary{filled(t)}})
	for i := range data {
		if got := decodeSummaries(data[:i]); got.summaries != nil {
			t.Fatalf("%d of %d bytes are decoded: %+v", i, len(data), got)
		}
		damaged := append([]byte(nil), data...)
		damaged[i] ^= 1 << (i % 8)
		if got := decodeSummaries(damaged); got.summaries != nil {
			t.Fatalf("damage at byte %d is not noticed: %+v", i, got)
		}
	}
}
