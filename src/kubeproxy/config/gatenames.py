"""Names of the feature gates of the whole Kubernetes release, because a file may name any of them.

Clusters share one list of gates among all components, so the proxy must know the gates of the others too.
"""

from typing import Final

#: (stage, default) and the names
NAMES: Final[tuple[tuple[str, bool, str], ...]] = (
    (
        "ALPHA",
        False,
        """
        APIServingWithRoutine AllAlpha AllowUnsafeMalformedObjectDeletion CBORServingAndStorage
        CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ClientsAllowCBOR
        ClientsPreferCBOR CloudControllerManagerWatchBasedRoutesReconciliation
        CloudControllerManagerWebhook ContainerStopSignals
        ControllerManagerReleaseLeaderElectionLockOnExit CrossNamespaceVolumeDataSource
        DRAListTypeAttributes DRANodeAllocatableResources DRAResourcePoolStatus
        DRAWorkloadResourceClaims EventedPLEG GangScheduling GenericWorkload HPAScaleToZero
        ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs
        InPlacePodVerticalScalingExclusiveMemory KubeletInUserNamespace LoggingAlphaOptions
        ManifestBasedAdmissionControlConfig MemoryQoS MutablePVNodeAffinity NativeHistograms
        PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI PodLevelResourceManagers
        PodLogsQuerySplitStreams PodsAPI QOSReserved ReduceDefaultCrashLoopBackOffDecay
        RuntimeClassInImageCriApi ShardedListAndWatch StorageCapacityScoring StorageVersionAPI
        TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling
        TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport VolumeLimitScaling
        WindowsCPUAndMemoryAffinity WorkloadAwarePreemption WorkloadWithJob
        """,
    ),
    (
        "BETA",
        True,
        """
        APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AtomicFIFO
        AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions
        CRDObservedGenerationTracking ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation
        ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz ConstrainedImpersonation
        ContainerCheckpoint ContainerRestartRules ContextualLogging DRAConsumableCapacity
        DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource DRAPartitionableDevices
        DRAResourceClaimDeviceStatus DRAResourceClaimGranularStatusAuthorization
        DRASchedulerFilterTimeout DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas
        DetectCacheInconsistency EnvFiles ExtendWebSocketsToKubelet GracefulNodeShutdown
        GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HostnameOverride
        InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling
        InPlacePodVerticalScalingInitContainers KubeletCrashLoopBackOffMax
        KubeletEnsureSecretPulledImages KubeletSeparateDiskGC
        KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions
        MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
        MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs
        NodeDeclaredFeatures NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching
        PLEGOnDemandRelist PodDeletionCost PodLevelResources PodReadyToStartContainersCondition
        PodTopologyLabelsAdmission PortForwardWebsockets PreventStaticPodAPIReferences
        RelaxedServiceNameValidation ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile
        RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage
        RestartAllContainersOnContainerExits RotateKubeletServerCertificate SchedulerAsyncPreemption
        SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate
        StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
        StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
        StatefulSetSemanticRevisionComparison StorageVersionHash StrictIPCIDRValidation
        StructuredAuthenticationConfigurationEgressSelector
        StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation
        TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
        UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy
        UnlockWhileProcessingFIFO WatchCacheInitializationPostStartHook WatchList WatchListClient
        WindowsGracefulNodeShutdown
        """,
    ),
    (
        "BETA",
        False,
        """
        AllBeta ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode
        CoordinatedLeaderElection DRADeviceTaintRules LocalStorageCapacityIsolationFSQuotaMonitoring
        MaxUnavailableStatefulSet PodCertificateRequest SELinuxMount SchedulerAsyncAPICalls
        StorageVersionMigrator
        """,
    ),
    (
        "DEPRECATED",
        True,
        """
        AggregatedDiscoveryRemoveBetaType DisableCPUQuotaWithExclusiveCPUs
        DisableNodeKubeProxyVersion KubeletPodResourcesListUseActivePods
        ServiceCIDRStatusFieldWiping StorageNamespaceIndex
        """,
    ),
    (
        "DEPRECATED",
        False,
        """
        AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
        AllowOverwriteTerminationGracePeriodSeconds ChangeContainerStatusOnKubeletRestart
        DeclarativeValidationTakeover GitRepoVolumeDriver KMSv1 KubeletRegistrationGetOnExistsOnly
        SeparateCacheWatchRPC WindowsHostNetwork
        """,
    ),
    (
        "GA",
        True,
        """
        APIServerTracing AllowServiceExternalIPs AnonymousAuthConfigurableEndpoints
        AnyVolumeDataSource AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache
        CPUManagerPolicyOptions CRDValidationRatcheting CSIServiceAccountTokenSecrets
        ConsistentListFromCache CustomCPUCFSQuotaPeriod CustomResourceFieldSelectors DRAAdminAccess
        DRAPrioritizedList DeclarativeValidation DisableAllocatorDualWrite DynamicResourceAllocation
        ExecProbeTimeout ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume
        InOrderInformers InPlacePodVerticalScaling InformerResourceVersion JobBackoffLimitPerIndex
        JobManagedBy JobPodReplacementPolicy JobSuccessPolicy KubeletCgroupDriverFromCRI
        KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources
        KubeletPodResourcesGet KubeletTracing LogarithmicScaleDown MatchLabelKeysInPodAffinity
        MultiCIDRServiceAllocator MutableCSINodeAllocatableCount MutatingAdmissionPolicy
        NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap
        OrderedNamespaceDeletion PodLifecycleSleepAction PodLifecycleSleepActionAllowZero
        PodObservedGenerationTracking PodSchedulingReadiness PreferSameTrafficDistribution
        ProcMountType RecoverVolumeExpansionFailure RecursiveReadOnlyMounts
        RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation
        ResilientWatchCacheInitialization RetryGenerateName SELinuxChangePolicy
        SELinuxMountReadWriteOncePod SchedulerQueueingHints SeparateTaintEvictionController
        ServiceAccountTokenJTI ServiceAccountTokenNodeBinding
        ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo SidecarContainers
        StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
        StructuredAuthenticationConfiguration SupplementalGroupsPolicy SystemdWatchdog
        TopologyManagerPolicyOptions UserNamespacesSupport VolumeAttributesClass WinDSR WinOverlay
        """,
    ),
)

#: gates of the proxy that later releases have; they are known here because what they switch is
LATER: Final[tuple[tuple[str, bool, str], ...]] = (
    ("DEPRECATED", True, "KubeProxyIPVS"),
    ("ALPHA", False, "KubeProxyNFTablesLocalhostNodePorts"),
    ("BETA", True, "NFTablesNetlink"),
)

#: generally available, and yet free to be switched
UNLOCKED_GA: Final = frozenset(
    (
        "AllowServiceExternalIPs",
        "CustomCPUCFSQuotaPeriod",
        "DRAPrioritizedList",
        "InformerResourceVersion",
        "MutatingAdmissionPolicy",
    )
)
#: deprecated, and no longer free to be switched
LOCKED_DEPRECATED: Final = frozenset(
    (
        "AggregatedDiscoveryRemoveBetaType",
        "AllowOverwriteTerminationGracePeriodSeconds",
        "DisableNodeKubeProxyVersion",
        "GitRepoVolumeDriver",
        "SeparateCacheWatchRPC",
    )
)

#: gates that need others to be on; others that are locked on anyway are left out
NEEDS: Final[dict[str, tuple[str, ...]]] = {
    "ClusterTrustBundleProjection": ("ClusterTrustBundle",),
    "DRADeviceBindingConditions": ("DRAResourceClaimDeviceStatus",),
    "DRADeviceTaintRules": ("DRADeviceTaints",),
    "GangScheduling": ("GenericWorkload",),
    "GracefulNodeShutdownBasedOnPodPriority": ("GracefulNodeShutdown",),
    "InPlacePodLevelResourcesVerticalScaling": ("PodLevelResources", "NodeDeclaredFeatures"),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": ("MatchLabelKeysInPodTopologySpread",),
    "RestartAllContainersOnContainerExits": ("ContainerRestartRules", "NodeDeclaredFeatures"),
    "StorageVersionAPI": ("APIServerIdentity",),
    "TopologyAwareWorkloadScheduling": ("GenericWorkload",),
    "UnknownVersionInteroperabilityProxy": ("APIServerIdentity",),
    "WindowsGracefulNodeShutdown": ("GracefulNodeShutdown",),
    "WorkloadAwarePreemption": ("GangScheduling",),
    "WorkloadWithJob": ("GenericWorkload",),
}
