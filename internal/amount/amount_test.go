package amount

import (
	"testing"
	"time"
)

func TestAmountsParseAsUsersWriteThem(t *testing.T) {
	for got, want := range map[string]string{
		Of(1, "file"): "1 file", Of(0, "file"): "0 files", Of(2, "branch"): "2 branches", Of(3, "prefix"): "3 prefixes", Of(4, "hash"): "4 hashes",
		Short(0): "0", Short(9999): "9999", Short(12_345): "12k", Short(34_567_890): "34M",
		Age(-time.Second): "0s", Age(59 * time.Second): "59s", Age(90 * time.Second): "1m", Age(47 * time.Hour): "47h", Age(72 * time.Hour): "3d",
		Took(440 * time.Millisecond): "0.4s", Took(12_340 * time.Millisecond): "12.3s", Took(250_400 * time.Millisecond): "4m10s",
		Span(0): "0s", Span(time.Hour): "1h", Span(90 * time.Second): "1m30s", Span(90 * time.Minute): "1h30m", Span(10 * time.Minute): "10m",
		Span(time.Hour + 5*time.Second): "1h0m5s", Span(time.Hour + 30*time.Second): "1h0m30s", Span(30 * time.Second): "30s",
		Span(time.Minute): "1m", Span(610 * time.Second): "10m10s", Span(20 * time.Hour): "20h",
		Span(720 * time.Hour): "30d", Span(24 * time.Hour): "1d", Span(25 * time.Hour): "25h", Span(-48 * time.Hour): "-2d", Span(24*time.Hour + time.Second): "24h0m1s",
		Bytes(0): "0 B", Bytes(1023): "1023 B", Bytes(1024): "1 KiB", Bytes(12_345): "12 KiB", Bytes(1<<20 - 1): "1 MiB", Bytes(21 << 30): "21 GiB",
		Bytes(512 << 20): "512 MiB", Bytes(1536 << 20): "1.5 GiB", Bytes(1000 << 20): "1000 MiB", Bytes(5 << 50): "5120 TiB",
	} {
		if got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}

func TestAnAmountIsNeverRoundedToNone(t *testing.T) {
	for _, text := range []string{"0.000000000001", "-0.000000000001", "0.00000000499"} {
		if d, err := ParseDecimal(text); err == nil {
			t.Errorf("the number %s is %v", text, d)
		}
		if u, err := ParseUSD(text); err == nil {
			t.Errorf("%s dollars are %v", text, u)
		}
	}
	for _, text := range []string{"0", "-0", "0.00"} {
		if d, err := ParseDecimal(text); d != 0 || err != nil {
			t.Errorf("the number %s is %v, %v", text, d, err)
		}
	}
}
