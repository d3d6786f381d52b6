from inkube.apiserver.admission import configfile as configfile
from inkube.apiserver.admission import coveringquotas as coveringquotas
from inkube.apiserver.admission import declaredfeatures as declaredfeatures
from inkube.apiserver.admission import names as names
from inkube.apiserver.admission.accounts import ServiceAccounts as ServiceAccounts
from inkube.apiserver.admission.certificates import CertificateApproval as CertificateApproval
from inkube.apiserver.admission.certificates import CertificateDurations as CertificateDurations
from inkube.apiserver.admission.certificates import CertificateSigning as CertificateSigning
from inkube.apiserver.admission.certificates import (
    CertificateSubjectRestriction as CertificateSubjectRestriction,
)
from inkube.apiserver.admission.createrights import CreateRights as CreateRights
from inkube.apiserver.admission.declaredkinds import DeclaredKinds as DeclaredKinds
from inkube.apiserver.admission.defaultclasses import ClaimResize as ClaimResize
from inkube.apiserver.admission.defaultclasses import DefaultIngressClass as DefaultIngressClass
from inkube.apiserver.admission.defaultclasses import DefaultStorageClass as DefaultStorageClass
from inkube.apiserver.admission.defaultclasses import StorageProtection as StorageProtection
from inkube.apiserver.admission.defaultclasses import TaintNewNodes as TaintNewNodes
from inkube.apiserver.admission.denials import ExternalAddresses as ExternalAddresses
from inkube.apiserver.admission.denials import OwnerRights as OwnerRights
from inkube.apiserver.admission.devicerights import DeviceRights as DeviceRights
from inkube.apiserver.admission.escalation import Escalation as Escalation
from inkube.apiserver.admission.eventrates import EventRateLimit as EventRateLimit
from inkube.apiserver.admission.lifecycle import NamespaceLifecycle as NamespaceLifecycle
from inkube.apiserver.admission.limits import LimitRanger as LimitRanger
from inkube.apiserver.admission.namespaces import NamespaceAutoProvision as NamespaceAutoProvision
from inkube.apiserver.admission.namespaces import NamespaceExists as NamespaceExists
from inkube.apiserver.admission.noderestriction import NodeRestriction as NodeRestriction
from inkube.apiserver.admission.podpolicies import AlwaysPullImages as AlwaysPullImages
from inkube.apiserver.admission.podpolicies import (
    ExtendedResourceTolerations as ExtendedResourceTolerations,
)
from inkube.apiserver.admission.podpolicies import HardTopologies as HardTopologies
from inkube.apiserver.admission.podpolicies import NamespaceSelectors as NamespaceSelectors
from inkube.apiserver.admission.podpolicies import NamespaceTolerations as NamespaceTolerations
from inkube.apiserver.admission.podresize import PodResizeValidator as PodResizeValidator
from inkube.apiserver.admission.pods import DefaultTolerationSeconds as DefaultTolerationSeconds
from inkube.apiserver.admission.pods import PodTopologyLabels as PodTopologyLabels
from inkube.apiserver.admission.pods import Priority as Priority
from inkube.apiserver.admission.pods import RuntimeClasses as RuntimeClasses
from inkube.apiserver.admission.podsecurity import PodSecurity as PodSecurity
from inkube.apiserver.admission.privileges import Unprivileged as Unprivileged
from inkube.apiserver.admission.quotas import DeviceClasses as DeviceClasses
from inkube.apiserver.admission.quotas import QuotaAdmission as QuotaAdmission
