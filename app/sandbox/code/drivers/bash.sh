# shellcheck shell=bash
# Runs bash code for package code. See driver.go.
trap : INT
while IFS=' ' read -r -u 3 __aibox_nonce __aibox_mode __aibox_size; do
	__aibox_code=$(head -c "$__aibox_size" <&3 2>/dev/null && printf x)
	__aibox_code=${__aibox_code%x}
	case $__aibox_mode in
	check)
		bash -n <<<"$__aibox_code"
		printf '\0%s{"exit":%d}\0' "$__aibox_nonce" $? >&4
		printf '\0%s\0' "$__aibox_nonce" >&5
		exit 0
		;;
	run)
		trap - INT
		exec 3<&- 4>&- 5>&-
		unset __aibox_nonce __aibox_mode __aibox_size __aibox_driver
		eval "unset __aibox_code; $__aibox_code"
		exit
		;;
	*)
		printf '\0%s\0' "$__aibox_nonce" >&4
		printf '\0%s\0' "$__aibox_nonce" >&5
		eval "$__aibox_code" 3<&- 4>&- 5>&-
		printf '\0%s{"exit":%d}\0' "$__aibox_nonce" $? >&4
		printf '\0%s\0' "$__aibox_nonce" >&5
		;;
	esac
done
