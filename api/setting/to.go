package setting

import (
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/config"
)

// ToDuration returns the value of a setting that is a length of time; nil if it is not given.
func ToDuration(given config.RunOverrides, key string) *durationpb.Duration {
	length, err := time.ParseDuration(given.Text(key))
	if !given.Has(key) || err != nil {
		return nil
	}
	return durationpb.New(length)
}

// ToLimits returns the limits that are given; nil if none is.
func ToLimits(given config.RunOverrides) *aiboxv1.Limits {
	out := &aiboxv1.Limits{MemoryMib: toNumber(given, "memory")}
	if pids := toNumber(given, "pids"); pids != nil {
		count := int32(*pids)
		out.Processes = &count
	}
	if cpus, err := strconv.ParseFloat(given.Text("cpus"), 64); given.Has("cpus") && err == nil {
		out.Cpus = &cpus
	}
	if out.MemoryMib == nil && out.Processes == nil && out.Cpus == nil {
		return nil
	}
	return out
}

// ToNetwork returns the part of a network policy that is given; nil if nothing is.
func ToNetwork(given config.RunOverrides) *aiboxv1.NetworkPolicy {
	out := &aiboxv1.NetworkPolicy{
		Mode: ToMode(given.Text("network")), UploadMib: toNumber(given, "egress-upload"), DownloadMib: toNumber(given, "egress-download"),
		UploadMibPerHost: toNumber(given, "egress-upload-host"), DownloadMibPerHost: toNumber(given, "egress-download-host"),
	}
	found := out.Mode != aiboxv1.NetworkMode_NETWORK_MODE_UNSPECIFIED || out.UploadMib != nil || out.DownloadMib != nil || out.UploadMibPerHost != nil || out.DownloadMibPerHost != nil
	if given.Has("allow") {
		out.Allow, found = &aiboxv1.HostList{Hosts: given.Words("allow")}, true
	}
	if given.Has("deny") {
		out.Deny, found = &aiboxv1.HostList{Hosts: given.Words("deny")}, true
	}
	if !found {
		return nil
	}
	return out
}

// toNumber returns the value of a setting that is a number or a size in MiB; nil if it is not given.
func toNumber(given config.RunOverrides, key string) *int64 {
	value, ok := given.Number(key)
	if !ok {
		return nil
	}
	return &value
}
