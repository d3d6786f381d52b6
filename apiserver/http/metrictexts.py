"""The help texts of metrics, as kube-apiserver 1.36 writes them: programs compare them.

Loaded at the first request for `/metrics`.
"""

from collections.abc import Mapping

HELP: Mapping[str, str] = {
    "aggregator_unavailable_apiservice": (
        "[ALPHA] Gauge of APIServices which are marked as unavailable broken down by "
        "APIService name."
    ),
    "apiserver_admission_controller_admission_duration_seconds": (
        "[STABLE] Admission controller latency histogram in seconds, identified by name and "
        "broken out for each operation and API resource and type (validate or admit)."
    ),
    "apiserver_admission_step_admission_duration_seconds": (
        "[STABLE] Admission sub-step latency histogram in seconds, broken out for each "
        "operation and API resource and step type (validate or admit)."
    ),
    "apiserver_admission_webhook_admission_duration_seconds": (
        "[STABLE] Admission webhook latency histogram in seconds, identified by name and "
        "broken out for each operation and API resource and type (validate or admit)."
    ),
    "apiserver_admission_webhook_fail_open_count": (
        "[ALPHA] Admission webhook fail open count, identified by name and broken out for "
        "each admission type (validating or admit)."
    ),
    "apiserver_admission_webhook_rejection_count": (
        "[ALPHA] Admission webhook rejection count, identified by name and broken out for "
        "each admission type (validating or admit) and operation. Additional labels specify "
        "an error type (calling_webhook_error or apiserver_internal_error if an error "
        "occurred; no_error otherwise) and optionally a non-zero rejection code if the "
        "webhook rejects the request with an HTTP status code (honored by the apiserver when "
        "the code is greater or equal to 400). Codes greater than 600 are truncated to 600, "
        "to keep the metrics cardinality bounded."
    ),
    "apiserver_admission_webhook_request_total": (
        "[ALPHA] Admission webhook request total, identified by name and broken out for each "
        "admission type (validating or admit) and operation. Additional labels specify "
        "whether the request was rejected or not and an HTTP status code. Codes greater than "
        "600 are truncated to 600, to keep the metrics cardinality bounded."
    ),
    "apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds": (
        "[BETA] Timestamp of the last automatic reload of authentication configuration split "
        "by status and apiserver identity."
    ),
    "apiserver_authentication_config_controller_automatic_reloads_total": (
        "[BETA] Total number of automatic reloads of authentication configuration split by "
        "status and apiserver identity."
    ),
    "apiserver_authentication_config_controller_last_config_info": (
        "[ALPHA] Information about the last applied authentication configuration with hash as "
        "label, split by apiserver identity."
    ),
    "apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info": (
        "[ALPHA] Information about the last JWKS fetched by the JWT authenticator with hash as "
        "label, split by api server identity and jwt issuer."
    ),
    "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds": (
        "[ALPHA] Timestamp of the last successful or failed JWKS fetch split by result, api "
        "server identity and jwt issuer for the JWT authenticator."
    ),
    "apiserver_certificates_registry_csr_honored_duration_total": (
        "[ALPHA] Total number of issued CSRs with a requested duration that was honored, sliced "
        "by signer (only kubernetes.io signer names are specifically identified)"
    ),
    "apiserver_certificates_registry_csr_requested_duration_total": (
        "[ALPHA] Total number of issued CSRs with a requested duration, sliced by signer (only "
        "kubernetes.io signer names are specifically identified)"
    ),
    "apiserver_authentication_jwt_authenticator_latency_seconds": (
        "[ALPHA] Latency of jwt authentication operations in seconds. This is the time spent "
        "authenticating a token for cache miss only (i.e. when the token is not found in the "
        "cache)."
    ),
    "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds": (
        "[BETA] Timestamp of the last automatic reload of authorization configuration split "
        "by status and apiserver identity."
    ),
    "apiserver_authorization_config_controller_automatic_reloads_total": (
        "[BETA] Total number of automatic reloads of authorization configuration split by "
        "status and apiserver identity."
    ),
    "apiserver_authorization_config_controller_last_config_info": (
        "[ALPHA] Information about the last applied authorization configuration with hash as "
        "label, split by apiserver identity."
    ),
    "apiserver_authorization_decisions_total": (
        "[ALPHA] Total number of terminal decisions made by an authorizer split by authorizer "
        "type, name, and decision."
    ),
    "apiserver_authorization_match_condition_evaluation_errors_total": (
        "[ALPHA] Total number of errors when an authorization webhook encounters a match "
        "condition error split by authorizer type and name."
    ),
    "apiserver_authorization_match_condition_exclusions_total": (
        "[ALPHA] Total number of exclusions when an authorization webhook is skipped because "
        "match conditions exclude it."
    ),
    "apiserver_authorization_webhook_duration_seconds": "[ALPHA] Request latency in seconds.",
    "apiserver_authorization_webhook_evaluations_fail_open_total": (
        "[ALPHA] NoOpinion results due to webhook timeout or error."
    ),
    "apiserver_authorization_webhook_evaluations_total": (
        "[ALPHA] Round-trips to authorization webhooks."
    ),
    "apiserver_current_inflight_requests": (
        "[STABLE] Maximal number of currently used inflight request limit of this apiserver "
        "per request kind in last second."
    ),
    "apiserver_flowcontrol_current_executing_requests": (
        "[BETA] Number of requests in initial (for a WATCH) or any (for a non-WATCH) "
        "execution stage in the API Priority and Fairness subsystem"
    ),
    "apiserver_flowcontrol_current_executing_seats": (
        "[BETA] Concurrency (number of seats) occupied by the currently executing (initial "
        "stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness "
        "subsystem"
    ),
    "apiserver_flowcontrol_current_inqueue_requests": (
        "[BETA] Number of requests currently pending in queues of the API Priority and "
        "Fairness subsystem"
    ),
    "apiserver_flowcontrol_current_inqueue_seats": (
        "[ALPHA] Number of seats currently pending in queues of the API Priority and Fairness "
        "subsystem"
    ),
    "apiserver_flowcontrol_current_limit_seats": (
        "[ALPHA] current derived number of execution seats available to each priority level"
    ),
    "apiserver_flowcontrol_dispatched_requests_total": (
        "[BETA] Number of requests executed by API Priority and Fairness subsystem"
    ),
    "apiserver_flowcontrol_lower_limit_seats": (
        "[ALPHA] Configured lower bound on number of execution seats available to each "
        "priority level"
    ),
    "apiserver_flowcontrol_nominal_limit_seats": (
        "[BETA] Nominal number of execution seats configured for each priority level"
    ),
    "apiserver_flowcontrol_priority_level_request_utilization": (
        "EXPERIMENTAL: [ALPHA] Observations, at the end of every nanosecond, of number of "
        "requests (as a fraction of the relevant limit) waiting or in any stage of execution "
        "(but only initial stage for WATCHes)"
    ),
    "apiserver_flowcontrol_priority_level_seat_utilization": (
        "EXPERIMENTAL: [ALPHA] Observations, at the end of every nanosecond, of utilization "
        "of seats for any stage of execution (but only initial stage for WATCHes)"
    ),
    "apiserver_flowcontrol_rejected_requests_total": (
        "[BETA] Number of requests rejected by API Priority and Fairness subsystem"
    ),
    "apiserver_flowcontrol_request_concurrency_in_use": (
        "[ALPHA] Concurrency (number of seats) occupied by the currently executing (initial "
        "stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness "
        "subsystem"
    ),
    "apiserver_flowcontrol_request_concurrency_limit": (
        "[ALPHA] Nominal number of execution seats configured for each priority level"
    ),
    "apiserver_flowcontrol_request_execution_seconds": (
        "[ALPHA] Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of "
        "request execution in the API Priority and Fairness subsystem"
    ),
    "apiserver_flowcontrol_request_queue_length_after_enqueue": (
        "[ALPHA] Length of queue in the API Priority and Fairness subsystem, as seen by each "
        "request after it is enqueued"
    ),
    "apiserver_flowcontrol_request_wait_duration_seconds": (
        "[BETA] Length of time a request spent waiting in its queue"
    ),
    "apiserver_flowcontrol_upper_limit_seats": (
        "[ALPHA] Configured upper bound on number of execution seats available to each "
        "priority level"
    ),
    "apiserver_flowcontrol_work_estimated_seats": (
        "[ALPHA] Number of estimated seats (maximum of initial and final seats) associated "
        "with requests in API Priority and Fairness"
    ),
    "apiserver_impersonation_attempts_duration_seconds": (
        "[ALPHA] Latency of impersonation attempts in seconds split by mode and decision."
    ),
    "apiserver_impersonation_attempts_total": (
        "[ALPHA] Total number of impersonation attempts split by mode and decision."
    ),
    "apiserver_impersonation_authorization_attempts_duration_seconds": (
        "[ALPHA] Latency of authorization checks made by the impersonation handler in seconds "
        "split by mode and decision."
    ),
    "apiserver_impersonation_authorization_attempts_total": (
        "[ALPHA] Total number of authorization checks made by the impersonation handler split "
        "by mode and decision."
    ),
    "apiserver_longrunning_requests": (
        "[STABLE] Gauge of all active long-running apiserver requests broken out by verb, "
        "group, version, resource, scope and component. Not all requests are tracked this way."
    ),
    "apiserver_request_body_size_bytes": (
        "[ALPHA] Apiserver request body size in bytes broken out by resource and verb."
    ),
    "apiserver_request_duration_seconds": (
        "[STABLE] Response latency distribution in seconds for each verb, dry run value, "
        "group, version, resource, subresource, scope and component."
    ),
    "apiserver_request_sli_duration_seconds": (
        "[ALPHA] Response latency distribution (not counting webhook duration and priority & "
        "fairness queue wait times) in seconds for each verb, group, version, resource, "
        "subresource, scope and component."
    ),
    "apiserver_request_slo_duration_seconds": (
        "[ALPHA] Response latency distribution (not counting webhook duration and priority & "
        "fairness queue wait times) in seconds for each verb, group, version, resource, "
        "subresource, scope and component."
    ),
    "apiserver_request_terminations_total": (
        "[ALPHA] Number of requests which apiserver terminated in self-defense."
    ),
    "apiserver_request_total": (
        "[STABLE] Counter of apiserver requests broken out for each verb, dry run value, "
        "group, version, resource, scope, component, and HTTP response code."
    ),
    "apiserver_requested_deprecated_apis": (
        "[STABLE] Gauge of deprecated APIs that have been requested, broken out by API group, "
        "version, resource, subresource, and removed_release."
    ),
    "apiserver_resource_objects": (
        "[ALPHA] Number of stored objects at the time of last check split by kind. In case of "
        "a fetching error, the value will be -1."
    ),
    "apiserver_resource_size_estimate_bytes": (
        "[ALPHA] Estimated size of stored objects in database. Estimate is based on sum of "
        "last observed sizes of serialized objects. In case of a fetching error, the value "
        "will be -1."
    ),
    "apiserver_response_sizes": (
        "[STABLE] Response size distribution in bytes for each group, version, verb, "
        "resource, subresource, scope and component."
    ),
    "apiserver_storage_db_total_size_in_bytes": (
        "[ALPHA] Total size of the storage database file physically allocated in bytes."
    ),
    "apiserver_storage_events_received_total": (
        "[BETA] Number of etcd events received split by kind."
    ),
    "apiserver_storage_objects": (
        "[STABLE] [DEPRECATED, consider using apiserver_resource_objects instead] Number of "
        "stored objects at the time of last check split by kind. In case of a fetching error, "
        "the value will be -1."
    ),
    "apiserver_storage_size_bytes": (
        "[STABLE] Size of the storage database file physically allocated in bytes."
    ),
    "apiserver_watch_events_sizes": "[ALPHA] Watch event size distribution in bytes",
    "apiserver_watch_events_total": "[ALPHA] Number of events sent in watch clients",
    "authenticated_user_requests": (
        "[ALPHA] Counter of authenticated requests broken out by username."
    ),
    "authentication_attempts": "[ALPHA] Counter of authenticated attempts.",
    "authorization_attempts_total": (
        "[ALPHA] Counter of authorization attempts broken down by result. It can be either "
        "'allowed', 'denied', 'no-opinion' or 'error'."
    ),
    "cardinality_enforcement_unexpected_categorizations_total": (
        "[ALPHA] The count of unexpected categorizations during cardinality enforcement."
    ),
    "disabled_metrics_total": "[BETA] The count of disabled metrics.",
    "etcd_request_duration_seconds": (
        "[ALPHA] Etcd request latency in seconds for each operation and object type."
    ),
    "etcd_requests_total": "[ALPHA] Etcd request counts for each operation and object type.",
    "hidden_metrics_total": "[BETA] The count of hidden metrics.",
    "kubernetes_build_info": (
        "[BETA] A metric with a constant '1' value labeled by major, minor, git version, git "
        "commit, git tree state, build date, Go version, and compiler from which Kubernetes "
        "was built, and platform on which it is running."
    ),
    "pod_security_evaluations_total": (
        "[ALPHA] Number of policy evaluations that occurred, not counting ignored or exempt "
        "requests."
    ),
    "pod_security_exemptions_total": (
        "[ALPHA] Number of exempt requests, not counting ignored or out of scope requests."
    ),
    "registered_metrics_total": (
        "[BETA] The count of registered metrics broken by stability level and deprecation version."
    ),
    "version_info": (
        "[ALPHA] Provides the compatibility version info of the component. The component "
        "label is the name of the component, usually kube, but is relevant for "
        "aggregated-apiservers."
    ),
    "workqueue_adds_total": "[BETA] Total number of adds handled by workqueue",
    "workqueue_depth": "[BETA] Current depth of workqueue",
    "workqueue_longest_running_processor_seconds": (
        "[BETA] How many seconds has the longest running processor for workqueue been running."
    ),
    "workqueue_queue_duration_seconds": (
        "[BETA] How long in seconds an item stays in workqueue before being requested."
    ),
    "workqueue_retries_total": "[BETA] Total number of retries handled by workqueue",
    "workqueue_unfinished_work_seconds": (
        "[BETA] How many seconds of work has done that is in progress and hasn't been "
        "observed by work_duration. Large values indicate stuck threads. One can deduce the "
        "number of stuck threads by observing the rate at which this increases."
    ),
    "workqueue_work_duration_seconds": (
        "[BETA] How long in seconds processing an item from workqueue takes."
    ),
}
